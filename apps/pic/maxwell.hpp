// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "pic/patch.hpp"
#include "pic/tile.hpp"

namespace pic {

// Maxwell's equations on the staggered grid of K. S. Yee, IEEE Transactions on Antennas and Propagation 14 (1966) 302.
//
// The entry of node (i, j, k) holds each electric component half a cell further along its own axis, and each magnetic
// component half a cell further along the other two. In two dimensions nothing changes along z. All tiles of a block
// have one guard node on each side (`own.grown(1, 1)`).

namespace detail {

/// Calls `f(entry, node)` for each node of `box` with its index in tiles like `tile`.
template <int D, class T, class F>
void for_each_entry(const Tile<D, T>& tile, const Box<D>& box, F f) {
  for_each_place(box, [&](const Place<D>& node) { f(tile.index(node), node); });
}

template <int D>
Vector3 inverse_spacing(const Grid<D>& grid) {
  Vector3 inverse{};
  for (int d = 0; d < D; ++d) {
    inverse[static_cast<std::size_t>(d)] = 1 / grid.spacing[d];
  }
  return inverse;
}

/// The entries to average along one axis, as distances from a node's own.
struct Nearest {
  std::ptrdiff_t below = 0;
  std::ptrdiff_t above = 0;
};

template <int D>
Nearest pair_along(int d, const Place<D>& node, std::ptrdiff_t stride, const Grid<D>& grid) {
  if (!grid.is_periodic(d) && node[d] == 0) {
    return {0, 0};
  }
  if (!grid.is_periodic(d) && node[d] == grid.cells[d]) {
    return {-stride, -stride};
  }
  return {-stride, 0};
}

}  // namespace detail

/// Advances the magnetic field by `step` on the block's own nodes and those just below. `electric` must be valid on all
/// nodes of its tile.
template <int D>
void advance_magnetic(Tile<D, Vector3>& magnetic, const Tile<D, Vector3>& electric, const Grid<D>& grid, double step) {
  const Vector3 by = detail::inverse_spacing(grid);
  const double hx = step * by[0];
  const double hy = step * by[1];
  const double hz = step * by[2];
  const std::ptrdiff_t up_y = electric.stride(1);
  const std::ptrdiff_t up_z = D == 3 ? electric.stride(2) : 0;
  const Box<D> box = magnetic.box().grown(0, -1);
  for_each_row(magnetic, box, [&](Vector3* b, std::ptrdiff_t count, std::ptrdiff_t) {
    const Vector3* e = electric.data() + (b - magnetic.data());
    for (std::ptrdiff_t i = 0; i < count; ++i, ++e, ++b) {
      (*b)[0] -= hy * (e[up_y][2] - e[0][2]);
      (*b)[1] += hx * (e[1][2] - e[0][2]);
      (*b)[2] -= hx * (e[1][1] - e[0][1]) - hy * (e[up_y][0] - e[0][0]);
      if constexpr (D == 3) {
        (*b)[0] += hz * (e[up_z][1] - e[0][1]);
        (*b)[1] -= hz * (e[up_z][0] - e[0][0]);
      }
    }
  });
}

/// Advances the electric field by one step on the block's own nodes, which are those of `current`.
template <int D>
void advance_electric(Tile<D, Vector3>& electric,
                      const Tile<D, Vector3>& magnetic,
                      const Tile<D, NodeCurrent>& current,
                      const Physics<D>& physics) {
  const double step = physics.time_step;
  const Vector3 by = detail::inverse_spacing(physics.grid);
  const Vector3 factors = physics.current_factors();
  const double hx = step * by[0];
  const double hy = step * by[1];
  const double hz = step * by[2];
  const std::ptrdiff_t up_y = electric.stride(1);
  const std::ptrdiff_t up_z = D == 3 ? electric.stride(2) : 0;
  for_each_row(current, current.box(), [&](const NodeCurrent* j, std::ptrdiff_t count, std::ptrdiff_t done) {
    Place<D> start = current.box().low;
    std::ptrdiff_t row = done / count;
    start[1] += static_cast<std::int32_t>(row % current.box().extent(1));
    if constexpr (D == 3) {
      start[2] += static_cast<std::int32_t>(row / current.box().extent(1));
    }
    const std::ptrdiff_t first = electric.index(start);
    Vector3* e = electric.data() + first;
    const Vector3* b = magnetic.data() + first;
    for (std::ptrdiff_t i = 0; i < count; ++i, ++e, ++b, ++j) {
      Vector3 curl{hy * (b[0][2] - b[-up_y][2]),
                   -hx * (b[0][2] - b[-1][2]),
                   hx * (b[0][1] - b[-1][1]) - hy * (b[0][0] - b[-up_y][0])};
      if constexpr (D == 3) {
        curl[0] -= hz * (b[0][1] - b[-up_z][1]);
        curl[1] += hz * (b[0][0] - b[-up_z][0]);
      }
      for (std::size_t c = 0; c < 3; ++c) {
        (*e)[c] += curl[c] - step * factors[c] * static_cast<double>((*j)[c]);
      }
    }
  });
}

/// Sets to zero the components that vanish in conducting walls, and those beyond the walls.
template <int D>
void apply_walls(Tile<D, Vector3>& electric, Tile<D, Vector3>& magnetic, const Grid<D>& grid) {
  for (int d = 0; d < D; ++d) {
    if (grid.is_periodic(d)) {
      continue;
    }
    const auto axis = static_cast<std::size_t>(d);
    for (const std::int32_t wall : {0, grid.cells[d]}) {
      Box<D> layer = electric.box();
      layer.low[d] = std::max(layer.low[d], wall);
      layer.high[d] = std::min(layer.high[d], wall + 1);
      if (layer.is_empty()) {
        continue;
      }
      detail::for_each_entry(electric, layer, [&](std::ptrdiff_t entry, const Place<D>&) {
        for (std::size_t c = 0; c < 3; ++c) {
          if (c != axis || wall > 0) {
            electric.data()[entry][c] = 0;
          }
          if (c == axis || wall > 0) {
            magnetic.data()[entry][c] = 0;
          }
        }
      });
    }
  }
}

/// Averages both fields to the nodes: means of the two or four nearest staggered values, mirrored at walls. `nodal` has
/// the block's own nodes.
template <int D>
void average_to_nodes(Tile<D, NodeField>& nodal,
                      const Tile<D, Vector3>& electric,
                      const Tile<D, Vector3>& magnetic,
                      const Grid<D>& grid) {
  const std::ptrdiff_t up_y = electric.stride(1);
  const std::ptrdiff_t up_z = D == 3 ? electric.stride(2) : 0;
  const auto one = [](const Vector3* at, std::size_t c, const detail::Nearest& p) {
    return 0.5 * (at[p.below][c] + at[p.above][c]);
  };
  const auto two = [](const Vector3* at, std::size_t c, const detail::Nearest& p, const detail::Nearest& q) {
    return 0.25 * ((at[p.below + q.below][c] + at[p.above + q.below][c]) +
                   (at[p.below + q.above][c] + at[p.above + q.above][c]));
  };
  detail::for_each_entry(electric, nodal.box(), [&](std::ptrdiff_t entry, const Place<D>& node) {
    const Vector3* const e = electric.data() + entry;
    const Vector3* const b = magnetic.data() + entry;
    const detail::Nearest x = detail::pair_along(0, node, 1, grid);
    const detail::Nearest y = detail::pair_along(1, node, up_y, grid);
    NodeField& out = nodal[node];
    if constexpr (D == 2) {
      out = {one(e, 0, x), one(e, 1, y), e[0][2], one(b, 0, y), one(b, 1, x), two(b, 2, x, y)};
    } else {
      const detail::Nearest z = detail::pair_along(2, node, up_z, grid);
      out = {one(e, 0, x), one(e, 1, y), one(e, 2, z), two(b, 0, y, z), two(b, 1, x, z), two(b, 2, x, y)};
    }
  });
}

/// Computes minus the gradient of a potential on the block's own nodes and those just below. The potential must be
/// valid on all nodes of its tile.
template <int D>
void electric_of_potential(Tile<D, Vector3>& electric, const Tile<D, double>& potential, const Grid<D>& grid) {
  const Vector3 by = detail::inverse_spacing(grid);
  detail::for_each_entry(electric, electric.box().grown(0, -1), [&](std::ptrdiff_t entry, const Place<D>& node) {
    const double* const phi = potential.data() + entry;
    for (int d = 0; d < D; ++d) {
      const bool is_inside = grid.is_periodic(d) || (node[d] >= 0 && node[d] < grid.cells[d]);
      const auto c = static_cast<std::size_t>(d);
      electric.data()[entry][c] = is_inside ? -(phi[electric.stride(d)] - phi[0]) * by[c] : 0;
    }
  });
}

/// The divergence of the electric field on a node; it reads the nodes just below.
template <int D>
[[nodiscard]] double divergence(const Tile<D, Vector3>& electric, const Place<D>& node, const Grid<D>& grid) {
  const Vector3* const e = electric.data() + electric.index(node);
  double sum = 0;
  for (int d = 0; d < D; ++d) {
    const auto c = static_cast<std::size_t>(d);
    sum += (e[0][c] - e[-electric.stride(d)][c]) / grid.spacing[d];
  }
  return sum;
}

}  // namespace pic
