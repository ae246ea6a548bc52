// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "plait/particles/kernels/kernel_body.hpp"
#include "plait/particles/kernels/kernel_sets.hpp"

namespace plait::particles::detail {
namespace {

/// 16-byte vectors by the compiler's extension: SSE2, NEON, or whatever there is.
struct Portable {
  using Double [[gnu::vector_size(16)]] = double;
  using Float [[gnu::vector_size(16)]] = float;
  static constexpr std::size_t double_lanes = 2;
  static constexpr std::size_t float_lanes = 4;
  static constexpr std::size_t targets_together = 1;

  static Double load(const double* p) { return Double{p[0], p[1]}; }
  static Float load(const float* p) { return Float{p[0], p[1], p[2], p[3]}; }
  static Double all(double v) { return Double{v, v}; }
  static Float all(float v) { return Float{v, v, v, v}; }
  static double sum(Double v) { return v[0] + v[1]; }
  static float sum(Float v) { return (v[0] + v[1]) + (v[2] + v[3]); }
  template <class V>
  static void add_sums(V x, V y, V z, V potential, Pull& pull) {
    pull.x += static_cast<double>(sum(x));
    pull.y += static_cast<double>(sum(y));
    pull.z += static_cast<double>(sum(z));
    pull.potential += static_cast<double>(sum(potential));
  }
  static Double max(Double a, Double b) { return a > b ? a : b; }
  static Double one_where_less(Double a, Double b) { return a < b ? all(1.0) : all(0.0); }
  static Float inverse_root(Float v) {
    return all(1.0F) / Float{std::sqrt(v[0]), std::sqrt(v[1]), std::sqrt(v[2]), std::sqrt(v[3])};
  }
  static Double inverse_root_or_zero(Double v) {
    const Double inverse = all(1.0) / Double{std::sqrt(v[0]), std::sqrt(v[1])};
    return v > all(0.0) ? inverse : all(0.0);
  }
};

}  // namespace

const Kernels kernels_portable = kernels_of<Portable>("portable");

}  // namespace plait::particles::detail
