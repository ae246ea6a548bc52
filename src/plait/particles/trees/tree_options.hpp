// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "plait/particles/store/box.hpp"
#include "plait/particles/store/kinds.hpp"
#include "plait/particles/store/lattice.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/search.hpp"
#include "plait/particles/trees/cell_moments.hpp"
#include "plait/particles/trees/node.hpp"

namespace plait::particles {

/// The order of the multipole expansion of a cell.
enum class Order : std::uint8_t { monopole = 1, quadrupole = 2 };

/// The signs of charges.
enum class ChargeSigns : std::uint8_t {
  one,    ///< No charge is negative, as of masses: cells have no dipole about their centre.
  both,   ///< Any. Cells have dipoles, so that those whose charges cancel act, too.
  apart,  ///< Any. The tree has a subtree for each sign, so that cells have a centre of charge and no dipole.
};

struct TreeOptions {
  Field<double> charge;  ///< Such as mass.
  Kinds sources;         ///< Other kinds have no charge.
  double theta = 0.5;    ///< The opening angle; 0 sums directly.
  Order order = Order::quadrupole;
  ChargeSigns signs = ChargeSigns::one;
  CellMoments moments;  ///< The program's own, which take the place of dipoles.
  /// Within this distance forces are direct and those inside a homogeneous sphere of this radius, and
  /// `WalkOptions::near` is called. 0: none.
  double near_radius = 0;
  /// Each particle's own near radius: forces between pairs within it are direct, and `WalkOptions::near` is called.
  /// Forces are those of all other pairs. None, or `near_radius` is 0.
  std::optional<Field<float>> near_reach;
  Search near_search = Search::scatter;  ///< Whose reach makes a pair near.
  /// The distance from which on nothing acts, measured to the centre of a cell. 0: none. Forces should approach zero
  /// there.
  double cutoff = 0;
  Vector period;  ///< Of periodic axes, where the nearest image acts (`Lattice::in_box`); 0 along open axes.
  Slide slide = {};
  // Smaller sizes make shorter lists, larger ones fewer walks.
  std::uint32_t leaf_bodies_max = 8;
  std::uint32_t group_bodies_max = 64;
  std::uint32_t batch_bodies_max = 1024;
  /// The fields of sources, besides position and charge, that `WalkOptions::near` or the kernel reads. The last one is
  /// `near_reach`, if that exists.
  std::vector<AnyField> travels;
  /// If set, nodes have motions (`Tree::find_motions`), which travel with them.
  std::optional<Field<Vector>> velocity;
};

/// The bytes of one node in `TreeView::moments`.
[[nodiscard]] inline std::size_t moment_bytes(const TreeOptions& options) {
  return options.moments.bytes > 0 ? options.moments.bytes : options.signs == ChargeSigns::both ? sizeof(Dipole) : 0;
}

/// The box of bodies in `box` with at most this reach, with all that is within it if targets search: cells near to it
/// are opened.
[[nodiscard]] Box target_box(const Box& box, float reach, const TreeOptions& options);

}  // namespace plait::particles
