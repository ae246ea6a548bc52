// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pic::detail {

/// The largest integer not above x, for |x| < 2^31. Unlike std::floor, no function call on baseline x86-64.
inline std::int32_t floor_to_int(double x) {
  const auto i = static_cast<std::int32_t>(x);
  return i - static_cast<std::int32_t>(x < static_cast<double>(i));
}

/// The weights of a particle on the nodes `base` to `base + Order` along an axis. They sum to 1, and their first moment
/// is the particle's position: B-splines, as in Birdsall and Langdon, "Plasma physics via computer simulation", 1985,
/// chapter 8.
template <int Order>
struct Shares {
  std::int32_t base = 0;
  std::array<double, Order + 1> share{};
};

/// Sets `result` in place, number by number: a copy of it would have to wait for all of them.
template <int Order>
inline void set_shares(Shares<Order>& result, double x) {
  if constexpr (Order == 1) {
    result.base = floor_to_int(x);
    const double w = x - static_cast<double>(result.base);
    result.share[0] = 1 - w;
    result.share[1] = w;
  } else {
    static_assert(Order == 2, "linear or quadratic");
    const std::int32_t nearest = floor_to_int(x + 0.5);
    const double w = x - static_cast<double>(nearest);
    result.base = nearest - 1;
    result.share[0] = 0.5 * (0.5 - w) * (0.5 - w);
    result.share[1] = 0.75 - w * w;
    result.share[2] = 0.5 * (0.5 + w) * (0.5 + w);
  }
}

/// The shares before a move along one axis and their changes, on the nodes `base` to `base + Width - 1`.
template <int Width>
struct ShareChange {
  std::int32_t base = 0;
  std::array<double, Width> before{};
  std::array<double, Width> change{};
};

/// For a move after which the particle has the same nodes as before, as for most moves.
template <int Order>
inline void set_change(ShareChange<Order + 1>& result, const Shares<Order>& from, const Shares<Order>& to) {
  result.base = from.base;
  for (std::size_t k = 0; k <= Order; ++k) {
    result.before[k] = from.share[k];
    result.change[k] = to.share[k] - from.share[k];
  }
}

/// For any move by less than one cell.
template <int Order>
inline void set_change(ShareChange<Order + 2>& result, const Shares<Order>& from, const Shares<Order>& to) {
  result.base = from.base < to.base ? from.base : to.base;
  // Selected instead of indexed, so that all stays in registers.
  const bool is_from_above = from.base > result.base;
  const bool is_to_above = to.base > result.base;
  for (std::size_t k = 0; k < Order + 2; ++k) {
    const double from_low = k <= Order ? from.share[k] : 0;
    const double from_high = k > 0 ? from.share[k - 1] : 0;
    const double to_low = k <= Order ? to.share[k] : 0;
    const double to_high = k > 0 ? to.share[k - 1] : 0;
    result.before[k] = is_from_above ? from_high : from_low;
    result.change[k] = (is_to_above ? to_high : to_low) - result.before[k];
  }
}

}  // namespace pic::detail
