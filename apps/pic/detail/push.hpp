// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "pic/detail/shape.hpp"
#include "pic/patch.hpp"

namespace pic::detail {

/// Particles in a chunk, whose intermediate values stay in the L1 cache.
inline constexpr std::size_t chunk_max = 128;

/// Two numbers for SIMD instructions that every supported machine has.
using Pair [[gnu::vector_size(16)]] = double;

inline Pair load_pair(const double* from) {
  Pair pair;
  std::memcpy(&pair, from, sizeof pair);
  return pair;
}

/// Intermediate values of a chunk.
template <int D>
struct Chunk {
  std::array<std::array<double, chunk_max>, 6> field;
  std::array<std::array<double, chunk_max>, static_cast<std::size_t>(D)> to;
  std::array<double, chunk_max> along_z;
};

/// Gathers the field at `count` particles from the `first`-th, with the same shares as for charges, so that a particle
/// exerts no force on itself.
template <int D, int Order>
inline void gather(const Tile<D, NodeField>& fields,
                   const Particles<D>& particles,
                   std::size_t first,
                   std::size_t count,
                   Chunk<D>& chunk) {
  const std::ptrdiff_t stride_y = fields.stride(1);
  const std::ptrdiff_t stride_z = D == 3 ? fields.stride(2) : 0;
  for (std::size_t p = 0; p < count; ++p) {
    std::array<Shares<Order>, static_cast<std::size_t>(D)> shares;
    Place<D> base{};
    for (int d = 0; d < D; ++d) {
      set_shares<Order>(shares[d], particles.position[d][first + p]);
      base[d] = shares[d].base;
    }
    const NodeField* const corner = fields.data() + fields.index(base);
    std::array<Pair, 3> sum{};
    for (std::size_t k = 0; k < (D == 3 ? Order + 1 : 1); ++k) {
      for (std::size_t j = 0; j <= Order; ++j) {
        const double share_yz = D == 3 ? shares[D - 1].share[k] * shares[1].share[j] : shares[1].share[j];
        const NodeField* const row =
            corner + static_cast<std::ptrdiff_t>(j) * stride_y + static_cast<std::ptrdiff_t>(k) * stride_z;
        for (std::size_t i = 0; i <= Order; ++i) {
          const double share = share_yz * shares[0].share[i];
          for (std::size_t c = 0; c < 3; ++c) {
            sum[c] += share * load_pair(row[i].data() + 2 * c);
          }
        }
      }
    }
    for (std::size_t c = 0; c < 3; ++c) {
      chunk.field[2 * c][p] = sum[c][0];
      chunk.field[2 * c + 1][p] = sum[c][1];
    }
  }
}

/// Constants of a species' push.
template <int D>
struct PushFactors {
  double half_kick = 0;                                     ///< Charge over mass times half a step.
  Vector3 magnetic{};                                       ///< Added to the gathered one.
  std::array<double, static_cast<std::size_t>(D)> cells{};  ///< Distance to cells: step over spacing.
  double time_step = 0;
};

/// Advances the momenta in `particles` by a step (Boris 1970), and sets `chunk.to` to the moves in cells.
template <int D>
inline void push(
    Particles<D>& particles, std::size_t first, std::size_t count, const PushFactors<D>& factors, Chunk<D>& chunk) {
  double* const ux = particles.momentum[0].data() + first;
  double* const uy = particles.momentum[1].data() + first;
  double* const uz = particles.momentum[2].data() + first;
  const double h = factors.half_kick;
  for (std::size_t p = 0; p < count; ++p) {
    const double ax = ux[p] + h * chunk.field[0][p];
    const double ay = uy[p] + h * chunk.field[1][p];
    const double az = uz[p] + h * chunk.field[2][p];
    const double turn = h / std::sqrt(1 + (ax * ax + ay * ay + az * az));
    const double tx = turn * (chunk.field[3][p] + factors.magnetic[0]);
    const double ty = turn * (chunk.field[4][p] + factors.magnetic[1]);
    const double tz = turn * (chunk.field[5][p] + factors.magnetic[2]);
    const double s = 2 / (1 + (tx * tx + ty * ty + tz * tz));
    const double bx = ax + (ay * tz - az * ty);
    const double by = ay + (az * tx - ax * tz);
    const double bz = az + (ax * ty - ay * tx);
    const double cx = ax + s * (by * tz - bz * ty) + h * chunk.field[0][p];
    const double cy = ay + s * (bz * tx - bx * tz) + h * chunk.field[1][p];
    const double cz = az + s * (bx * ty - by * tx) + h * chunk.field[2][p];
    const double slow = 1 / std::sqrt(1 + (cx * cx + cy * cy + cz * cz));
    ux[p] = cx;
    uy[p] = cy;
    uz[p] = cz;
    chunk.to[0][p] = cx * slow * factors.cells[0];
    chunk.to[1][p] = cy * slow * factors.cells[1];
    if constexpr (D == 3) {
      chunk.to[2][p] = cz * slow * factors.cells[2];
    }
    chunk.along_z[p] = cz * slow * factors.time_step;
  }
}

}  // namespace pic::detail
