// SPDX-License-Identifier: Apache-2.0
// Compiled with -mavx512f -mavx512dq; run only where the processor says that it has them.
#include <immintrin.h>

#include "plait/particles/kernels/kernel_body.hpp"
#include "plait/particles/kernels/kernel_sets.hpp"

namespace plait::particles::detail {
namespace {

struct Avx512 {
  using Double = __m512d;
  using Float = __m512;
  static constexpr std::size_t double_lanes = 8;
  static constexpr std::size_t float_lanes = 16;
  static constexpr std::size_t targets_together = 4;

  static Double load(const double* p) { return _mm512_load_pd(p); }
  static Float load(const float* p) { return _mm512_load_ps(p); }
  static Double all(double v) { return _mm512_set1_pd(v); }
  static Float all(float v) { return _mm512_set1_ps(v); }
  static double sum(Double v) { return _mm512_reduce_add_pd(v); }
  static void add_sums(Double x, Double y, Double z, Double potential, Pull& pull) {
    const __m256d xy = _mm256_hadd_pd(half(x), half(y));  // x01 y01 x23 y23
    const __m256d zp = _mm256_hadd_pd(half(z), half(potential));
    const __m256d sums = _mm256_permute2f128_pd(xy, zp, 0x20) + _mm256_permute2f128_pd(xy, zp, 0x31);
    _mm256_storeu_pd(&pull.x, _mm256_loadu_pd(&pull.x) + sums);
  }
  static void add_sums(Float x, Float y, Float z, Float potential, Pull& pull) {
    const __m256 sums = _mm256_hadd_ps(_mm256_hadd_ps(half(x), half(y)), _mm256_hadd_ps(half(z), half(potential)));
    const __m128 four = _mm256_castps256_ps128(sums) + _mm256_extractf128_ps(sums, 1);
    _mm256_storeu_pd(&pull.x, _mm256_loadu_pd(&pull.x) + _mm256_cvtps_pd(four));
  }
  static __m256d half(Double v) { return _mm512_castpd512_pd256(v) + _mm512_extractf64x4_pd(v, 1); }
  static __m256 half(Float v) { return _mm512_castps512_ps256(v) + _mm512_extractf32x8_ps(v, 1); }
  static Double max(Double a, Double b) { return _mm512_max_pd(a, b); }
  static Double one_where_less(Double a, Double b) {
    return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(a, b, _CMP_LT_OQ), all(1.0));
  }
  static Float inverse_root(Float v) {
    const Float y = _mm512_rsqrt14_ps(v);
    return y * (all(1.5F) - all(0.5F) * v * y * y);
  }
  static Double inverse_root_or_zero(Double v) {
    // 14 bits, then one step of third order: to 6e-13. Both partners of a pair get the same, so momentum is exact.
    const Double y = _mm512_maskz_rsqrt14_pd(_mm512_cmp_pd_mask(v, all(0.0), _CMP_GT_OQ), v);
    const Double e = all(1.0) - v * y * y;
    return y + y * e * (all(0.5) + all(0.375) * e);
  }
};

}  // namespace

const Kernels kernels_avx512 = kernels_of<Avx512>("avx512");

}  // namespace plait::particles::detail
