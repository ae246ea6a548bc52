// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pic/patch.hpp"
#include "pic/tile.hpp"

namespace pic {

// Maxwell's equations on the staggered grid of K. S. Yee, IEEE Transactions on Antennas and Propagation 14 (1966) 302.
//
// The entry of node (i, j, k) holds each electric component half a cell further along its own axis, and each magnetic
// one half a cell further along the other two. In two dimensions nothing changes along z. All tiles of a block have one
// node more than its own on each side (`own.grown(1, 1)`).

/// Advances the magnetic field by `step` on the block's own nodes and those just below, from an electric field that is
/// right on all nodes of its tile.
template <int D>
void advance_magnetic(Tile<D, Vector3>& magnetic, const Tile<D, Vector3>& electric, const Grid<D>& grid, double step);

/// What turns the charges that crossed faces during a step into current densities, along each axis.
template <int D>
[[nodiscard]] Vector3 current_factors(const Physics<D>& physics);

/// Advances the electric field by a step on the block's own nodes, `current` being on these.
template <int D>
void advance_electric(Tile<D, Vector3>& electric,
                      const Tile<D, Vector3>& magnetic,
                      const Tile<D, NodeCurrent>& current,
                      const Physics<D>& physics);

/// Makes zero what is zero in conducting walls, and what would lie beyond them.
template <int D>
void apply_walls(Tile<D, Vector3>& electric, Tile<D, Vector3>& magnetic, const Grid<D>& grid);

/// Both fields on the nodes: means of the two or four nearest staggered values, mirrored at walls. `nodal` has the
/// block's own nodes.
template <int D>
void average_to_nodes(Tile<D, NodeField>& nodal,
                      const Tile<D, Vector3>& electric,
                      const Tile<D, Vector3>& magnetic,
                      const Grid<D>& grid);

/// Minus the gradient of a potential that is right on all nodes of its tile, on the block's own nodes and those just
/// below.
template <int D>
void electric_of_potential(Tile<D, Vector3>& electric, const Tile<D, double>& potential, const Grid<D>& grid);

/// Divergence of the electric field on a node; needs the nodes just below.
template <int D>
[[nodiscard]] double divergence(const Tile<D, Vector3>& electric, const Place<D>& node, const Grid<D>& grid);

}  // namespace pic
