// SPDX-License-Identifier: Apache-2.0
#include "dns/point_work.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

namespace dns {

namespace {

constexpr std::size_t lanes = 8;

/// Largest values by lane, so that compilers keep them in vectors. `x > max ? x : max` drops what is no number; the
/// sum does not.
struct Largest {
  std::array<double, lanes> max{};
  std::array<double, lanes> sum{};

  [[nodiscard]] double value() const noexcept {
    double largest = 0;
    double all = 0;
    for (std::size_t j = 0; j < lanes; ++j) {
      largest = max[j] > largest ? max[j] : largest;
      all += sum[j];
    }
    return std::isfinite(all) ? largest : std::numeric_limits<double>::infinity();
  }
};

/// Calls `block(first, count)` with counts of `lanes`, and once with what is left.
template <class Block>
inline void by_lanes(std::size_t count, Block block) {
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    block(i, std::integral_constant<std::size_t, lanes>{});
  }
  if (i < count) {
    block(i, count - i);
  }
}

}  // namespace

Speeds cross_in_place(const std::array<const double*, 3>& u,
                      const std::array<double*, 3>& omega,
                      std::size_t count,
                      const std::array<double, 3>& inverse_step) noexcept {
  const double* __restrict const u0 = u[0];
  const double* __restrict const u1 = u[1];
  const double* __restrict const u2 = u[2];
  double* __restrict const w0 = omega[0];
  double* __restrict const w1 = omega[1];
  double* __restrict const w2 = omega[2];
  const auto [s0, s1, s2] = inverse_step;
  Largest rate;
  by_lanes(count, [&](std::size_t first, auto n) {
    for (std::size_t j = 0; j < n; ++j) {
      const std::size_t i = first + j;
      const double x = u1[i] * w2[i] - u2[i] * w1[i];
      const double y = u2[i] * w0[i] - u0[i] * w2[i];
      const double z = u0[i] * w1[i] - u1[i] * w0[i];
      w0[i] = x;
      w1[i] = y;
      w2[i] = z;
      const double here = std::fabs(u0[i]) * s0 + std::fabs(u1[i]) * s1 + std::fabs(u2[i]) * s2;
      rate.max[j] = here > rate.max[j] ? here : rate.max[j];
      rate.sum[j] += here;
    }
  });
  return {.rate = rate.value()};
}

void flux_in_place(const std::array<const double*, 3>& u,
                   const std::array<double*, 3>& flux,
                   std::size_t count) noexcept {
  const double* __restrict const u0 = u[0];
  const double* __restrict const u1 = u[1];
  const double* __restrict const u2 = u[2];
  double* __restrict const f0 = flux[0];
  double* __restrict const f1 = flux[1];
  double* __restrict const f2 = flux[2];
  for (std::size_t i = 0; i < count; ++i) {
    const double theta = f0[i];
    f0[i] = u0[i] * theta;
    f1[i] = u1[i] * theta;
    f2[i] = u2[i] * theta;
  }
}

Speeds speeds(const std::array<const double*, 3>& u,
              std::size_t count,
              const std::array<double, 3>& inverse_step) noexcept {
  const auto [s0, s1, s2] = inverse_step;
  Largest rate;
  Largest square;
  by_lanes(count, [&](std::size_t first, auto n) {
    for (std::size_t j = 0; j < n; ++j) {
      const double x = u[0][first + j];
      const double y = u[1][first + j];
      const double z = u[2][first + j];
      const double here = std::fabs(x) * s0 + std::fabs(y) * s1 + std::fabs(z) * s2;
      const double of_square = x * x + y * y + z * z;
      rate.max[j] = here > rate.max[j] ? here : rate.max[j];
      rate.sum[j] += here;
      square.max[j] = of_square > square.max[j] ? of_square : square.max[j];
    }
  });
  return {.rate = rate.value(), .square_max = square.value()};
}

std::array<double, 2> moments(const double* values, std::size_t count) noexcept {
  std::array<double, lanes> squares{};
  std::array<double, lanes> cubes{};
  by_lanes(count, [&](std::size_t first, auto n) {
    for (std::size_t j = 0; j < n; ++j) {
      const double x = values[first + j];
      squares[j] += x * x;
      cubes[j] += x * x * x;
    }
  });
  std::array<double, 2> sums{};
  for (std::size_t j = 0; j < lanes; ++j) {
    sums[0] += squares[j];
    sums[1] += cubes[j];
  }
  return sums;
}

}  // namespace dns
