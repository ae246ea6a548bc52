// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "pic/detail/shape.hpp"
#include "pic/patch.hpp"

namespace pic::detail {

/// A particle's move.
template <int D>
struct Move {
  std::array<double, static_cast<std::size_t>(D)> from{};
  std::array<double, static_cast<std::size_t>(D)> to{};
  double charge = 0;   ///< In quanta.
  double along_z = 0;  ///< Two dimensions only: distance moved in z.
};

/// Adds the current of one move: the density decomposition of Esirkepov (2001), equations 31 and 37 to 39.
template <int Width>
inline void deposit_on_nodes(Tile<2, NodeCurrent>& current,
                             const Move<2>& move,
                             const std::array<ShareChange<Width>, 2>& shares) {
  const auto& [x, y] = shares;
  NodeCurrent* row = current.data() + current.index({x.base, y.base});
  const std::ptrdiff_t stride = current.box().extent(0);
  std::array<double, Width> through_y{};
  for (std::size_t j = 0; j < Width; ++j, row += stride) {
    double through_x = 0;
    const double mean_y = move.charge * (y.before[j] + 0.5 * y.change[j]);
    const double change_y = move.charge * y.change[j];
    const double z_before = move.along_z * mean_y;
    const double z_change = move.along_z * move.charge * (0.5 * y.before[j] + (1.0 / 3.0) * y.change[j]);
    for (std::size_t i = 0; i < Width; ++i) {
      through_x -= mean_y * x.change[i];
      through_y[i] -= change_y * (x.before[i] + 0.5 * x.change[i]);
      if (i + 1 < Width) {
        row[i][0] += to_quanta(through_x);
      }
      if (j + 1 < Width) {
        row[i][1] += to_quanta(through_y[i]);
      }
      row[i][2] += to_quanta(z_before * x.before[i] + z_change * x.change[i]);
    }
  }
}

/// The weight of a node in the third axis' current, from the shares of two axes.
template <int Width>
inline double pair_weight(const ShareChange<Width>& a, std::size_t i, const ShareChange<Width>& b, std::size_t j) {
  return a.before[i] * (b.before[j] + 0.5 * b.change[j]) +
         a.change[i] * (0.5 * b.before[j] + (1.0 / 3.0) * b.change[j]);
}

template <int Width>
inline void deposit_on_nodes(Tile<3, NodeCurrent>& current,
                             const Move<3>& move,
                             const std::array<ShareChange<Width>, 3>& shares) {
  const auto& [x, y, z] = shares;
  NodeCurrent* const corner = current.data() + current.index({x.base, y.base, z.base});
  const std::ptrdiff_t stride_y = current.stride(1);
  const std::ptrdiff_t stride_z = current.stride(2);
  const double q = move.charge;
  const auto at = [&](std::size_t i, std::size_t j, std::size_t k) -> NodeCurrent& {
    return corner[static_cast<std::ptrdiff_t>(i) + static_cast<std::ptrdiff_t>(j) * stride_y +
                  static_cast<std::ptrdiff_t>(k) * stride_z];
  };
  for (std::size_t b = 0; b < Width; ++b) {
    for (std::size_t c = 0; c < Width; ++c) {
      const double yz = q * pair_weight(y, b, z, c);
      const double xz = q * pair_weight(x, b, z, c);
      const double xy = q * pair_weight(x, b, y, c);
      double through_x = 0;
      double through_y = 0;
      double through_z = 0;
      for (std::size_t a = 0; a + 1 < Width; ++a) {
        through_x -= yz * x.change[a];
        through_y -= xz * y.change[a];
        through_z -= xy * z.change[a];
        at(a, b, c)[0] += to_quanta(through_x);
        at(b, a, c)[1] += to_quanta(through_y);
        at(b, c, a)[2] += to_quanta(through_z);
      }
    }
  }
}

template <int Order, int Width, int D>
inline void deposit_between(Tile<D, NodeCurrent>& current,
                            const Move<D>& move,
                            const std::array<Shares<Order>, static_cast<std::size_t>(D)>& from,
                            const std::array<Shares<Order>, static_cast<std::size_t>(D)>& to) {
  std::array<ShareChange<Width>, static_cast<std::size_t>(D)> shares;
  for (std::size_t d = 0; d < shares.size(); ++d) {
    set_change<Order>(shares[d], from[d], to[d]);
  }
  deposit_on_nodes(current, move, shares);
}

template <int Order, int D>
inline void deposit_current(Tile<D, NodeCurrent>& current, const Move<D>& move) {
  std::array<Shares<Order>, static_cast<std::size_t>(D)> from;
  std::array<Shares<Order>, static_cast<std::size_t>(D)> to;
  bool has_same_nodes = true;
  for (std::size_t d = 0; d < from.size(); ++d) {
    set_shares<Order>(from[d], move.from[d]);
    set_shares<Order>(to[d], move.to[d]);
    has_same_nodes &= from[d].base == to[d].base;
  }
  if (has_same_nodes) [[likely]] {  // a quarter to a half of the additions; the others would be of 0
    deposit_between<Order, Order + 1>(current, move, from, to);
  } else {
    deposit_between<Order, Order + 2>(current, move, from, to);
  }
}

/// Adds the charge of one particle to the nodes around it.
template <int Order, int D>
inline void deposit_charge_of(Tile<D, Quanta>& tile,
                              const std::array<double, static_cast<std::size_t>(D)>& position,
                              double charge) {
  std::array<Shares<Order>, static_cast<std::size_t>(D)> shares;
  Place<D> base{};
  for (int d = 0; d < D; ++d) {
    set_shares<Order>(shares[d], position[d]);
    base[d] = shares[d].base;
  }
  Quanta* const corner = tile.data() + tile.index(base);
  const std::ptrdiff_t stride_y = tile.stride(1);
  const std::ptrdiff_t stride_z = D == 3 ? tile.stride(2) : 0;
  for (std::size_t k = 0; k < (D == 3 ? Order + 1 : 1); ++k) {
    const double share_z = D == 3 ? charge * shares[D - 1].share[k] : charge;
    for (std::size_t j = 0; j <= Order; ++j) {
      const double share_yz = share_z * shares[1].share[j];
      Quanta* const row =
          corner + static_cast<std::ptrdiff_t>(j) * stride_y + static_cast<std::ptrdiff_t>(k) * stride_z;
      for (std::size_t i = 0; i <= Order; ++i) {
        row[i] += to_quanta(share_yz * shares[0].share[i]);
      }
    }
  }
}

}  // namespace pic::detail
