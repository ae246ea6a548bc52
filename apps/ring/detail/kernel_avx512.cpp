// SPDX-License-Identifier: Apache-2.0
// Compiled with -mavx512f -mavx512dq; run only where the processor says that it has them.
#include <immintrin.h>

#include "ring/detail/kernel_body.hpp"
#include "ring/detail/kernel_sets.hpp"

namespace ring::detail {
namespace {

struct Avx512 {
  using Double = __m512d;
  using Float = __m512;
  static constexpr std::size_t double_lanes = 8;
  static constexpr std::size_t float_lanes = 16;

  static Double load(const double* p) { return _mm512_load_pd(p); }
  static Float load(const float* p) { return _mm512_load_ps(p); }
  static Double all(double v) { return _mm512_set1_pd(v); }
  static Float all(float v) { return _mm512_set1_ps(v); }
  static double sum(Double v) { return _mm512_reduce_add_pd(v); }
  static float sum(Float v) { return _mm512_reduce_add_ps(v); }
  static Double max(Double a, Double b) { return _mm512_max_pd(a, b); }
  static Double one_where_less(Double a, Double b) {
    return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(a, b, _CMP_LT_OQ), all(1.0));
  }
  static Float inverse_root(Float v) {
    const Float y = _mm512_rsqrt14_ps(v);
    return y * (all(1.5F) - all(0.5F) * v * y * y);
  }
  static Double inverse_root_or_zero(Double v) {
    // 14 bits, then one step of third and one of second order: 42, 84. Error e = 1 - v y^2.
    Double y = _mm512_maskz_rsqrt14_pd(_mm512_cmp_pd_mask(v, all(0.0), _CMP_GT_OQ), v);
    const Double e = all(1.0) - v * y * y;
    y = y + y * e * (all(0.5) + all(0.375) * e);
    return y + all(0.5) * y * (all(1.0) - v * y * y);
  }
};

}  // namespace

const Kernels kernels_avx512 = kernels_of<Avx512>("avx512");

}  // namespace ring::detail
