// SPDX-License-Identifier: Apache-2.0
// Compiled with -mavx2 -mfma; run only where the processor says that it has them.
#include <immintrin.h>

#include "plait/particles/kernels/kernel_body.hpp"
#include "plait/particles/kernels/kernel_sets.hpp"

namespace plait::particles::detail {
namespace {

struct Avx2 {
  using Double = __m256d;
  using Float = __m256;
  static constexpr std::size_t double_lanes = 4;
  static constexpr std::size_t float_lanes = 8;
  static constexpr std::size_t targets_together = 1;

  static Double load(const double* p) { return _mm256_load_pd(p); }
  static Float load(const float* p) { return _mm256_load_ps(p); }
  static Double all(double v) { return _mm256_set1_pd(v); }
  static Float all(float v) { return _mm256_set1_ps(v); }
  static double sum(Double v) { return (v[0] + v[1]) + (v[2] + v[3]); }
  static void add_sums(Double x, Double y, Double z, Double potential, Pull& pull) {
    const Double xy = _mm256_hadd_pd(x, y);  // x01 y01 x23 y23
    const Double zp = _mm256_hadd_pd(z, potential);
    const Double sums = _mm256_permute2f128_pd(xy, zp, 0x20) + _mm256_permute2f128_pd(xy, zp, 0x31);
    _mm256_storeu_pd(&pull.x, _mm256_loadu_pd(&pull.x) + sums);
  }
  static void add_sums(Float x, Float y, Float z, Float potential, Pull& pull) {
    const Float sums = _mm256_hadd_ps(_mm256_hadd_ps(x, y), _mm256_hadd_ps(z, potential));
    const __m128 four = _mm256_castps256_ps128(sums) + _mm256_extractf128_ps(sums, 1);
    _mm256_storeu_pd(&pull.x, _mm256_loadu_pd(&pull.x) + _mm256_cvtps_pd(four));
  }
  static Double max(Double a, Double b) { return _mm256_max_pd(a, b); }
  static Double one_where_less(Double a, Double b) { return _mm256_and_pd(_mm256_cmp_pd(a, b, _CMP_LT_OQ), all(1.0)); }
  static Float inverse_root(Float v) {
    const Float y = _mm256_rsqrt_ps(v);  // 11 bits; one Newton step makes 22
    return y * (all(1.5F) - all(0.5F) * v * y * y);
  }
  static Double inverse_root_or_zero(Double v) {
    const Double inverse = all(1.0) / _mm256_sqrt_pd(v);
    return _mm256_and_pd(_mm256_cmp_pd(v, all(0.0), _CMP_GT_OQ), inverse);
  }
};

}  // namespace

const Kernels kernels_avx2 = kernels_of<Avx2>("avx2");

}  // namespace plait::particles::detail
