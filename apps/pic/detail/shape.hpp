// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pic::detail {

/// The largest integer not above x, for |x| < 2^31. Unlike std::floor no function call on the oldest x86-64.
inline std::int32_t floor_to_int(double x) {
  const auto i = static_cast<std::int32_t>(x);
  return i - static_cast<std::int32_t>(x < static_cast<double>(i));
}

/// The share of a particle that each of the nodes `base` to `base + Order` along an axis has. The shares sum to 1, and
/// their first moment is the particle's place: B-splines, as in Birdsall and Langdon, "Plasma physics via computer
/// simulation", 1985, chapter 8.
template <int Order>
struct Shares {
  std::int32_t base = 0;
  std::array<double, Order + 1> share{};
};

template <int Order>
inline Shares<Order> shares_at(double x) {
  Shares<Order> result;
  if constexpr (Order == 1) {
    result.base = floor_to_int(x);
    const double w = x - static_cast<double>(result.base);
    result.share = {1 - w, w};
  } else {
    static_assert(Order == 2, "linear or quadratic");
    const std::int32_t nearest = floor_to_int(x + 0.5);
    const double w = x - static_cast<double>(nearest);
    result.base = nearest - 1;
    result.share = {0.5 * (0.5 - w) * (0.5 - w), 0.75 - w * w, 0.5 * (0.5 + w) * (0.5 + w)};
  }
  return result;
}

/// The shares before a move along one axis and what the move changes, on the same `Order + 2` nodes.
template <int Order>
struct ShareChange {
  static constexpr int width = Order + 2;
  std::int32_t base = 0;
  std::array<double, width> before{};
  std::array<double, width> change{};
};

/// Expects: the move is by less than one cell.
template <int Order>
inline ShareChange<Order> share_change(double x0, double x1) {
  const Shares<Order> old_shares = shares_at<Order>(x0);
  const Shares<Order> new_shares = shares_at<Order>(x1);
  ShareChange<Order> result;
  result.base = old_shares.base < new_shares.base ? old_shares.base : new_shares.base;
  const auto old_at = static_cast<std::size_t>(old_shares.base - result.base);
  const auto new_at = static_cast<std::size_t>(new_shares.base - result.base);
  for (std::size_t k = 0; k <= Order; ++k) {
    result.before[old_at + k] = old_shares.share[k];
    result.change[new_at + k] = new_shares.share[k];
  }
  for (std::size_t k = 0; k < result.width; ++k) {
    result.change[k] -= result.before[k];
  }
  return result;
}

}  // namespace pic::detail
