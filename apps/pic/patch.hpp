// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "pic/particles.hpp"
#include "pic/physics.hpp"
#include "pic/tile.hpp"

namespace pic {

/// What a particle feels on a node: three components of the electric field, three of the magnetic one.
using NodeField = std::array<double, 6>;
/// Charge that crosses the face behind a node during a step, along each axis, in quanta. In two dimensions the third is
/// charge times distance in z.
using NodeCurrent = std::array<Quanta, 3>;

/// A box of cells with the particles in it, and what it exchanges with the solver. It can move between ranks: it holds
/// no pointer, and nothing about where it is.
///
/// A step: the solver's fields are put into `fields`; `move_particles` (`problem.hpp`); leavers are handed to their
/// patches, which `take` them; in an electrostatic run `deposit_charge`; `current` or `charge` are added to the
/// solver's (`pieces_of`, `transfer.hpp`).
template <int D>
struct Patch {
  Patch() = default;
  Patch(const Box<D>& cells, const Physics<D>& physics);

  Box<D> cells;
  std::vector<Particles<D>> species;  ///< As many as `Physics::species`.
  Tile<D, NodeField> fields;          ///< On the nodes that its particles feel.
  Tile<D, NodeCurrent> current;       ///< What its particles deposited in the last step, electromagnetic runs only.
  Tile<D, Quanta> charge;             ///< What they deposited in the last `deposit_charge`.
  std::uint64_t absorbed = 0;         ///< Particles that ended in this patch, since the beginning.

  [[nodiscard]] std::uint64_t particle_count() const;

  /// For cereal and its like.
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cells, species, fields, current, charge, absorbed);
  }
};

/// Moves all particles by a step: gathers the fields, turns and accelerates them, moves them, adds their currents to
/// `current`, and treats the borders. Particles outside the patch afterwards are taken out of it and added to
/// `leavers`, wherever in the grid they are now; those absorbed by a wall are counted.
///
/// Momenta are of half a step before the fields' time and are moved to half a step after it: J. P. Boris, "Relativistic
/// plasma simulation: optimization of a hybrid code", 4th Conference on Numerical Simulation of Plasmas, 1970.
/// Currents: T. Zh. Esirkepov, Computer Physics Communications 135 (2001) 144: they and the charges of `deposit_charge`
/// satisfy continuity up to a quantum a particle. Throws: `plait::Error` that names particle and cell when a particle's
/// place is not a number any more, or, in an electromagnetic run, when it moves by more than a cell. Cost: O(particles
/// + nodes); allocates only for leavers.
template <int D>
void advance(Patch<D>& patch, const Physics<D>& physics, std::vector<Migrant<D>>& leavers);

/// Takes particles in. Expects: they are inside.
template <int D>
void take(Patch<D>& patch, std::span<const Migrant<D>> arrivals);

/// Deposits the charge of all particles on the nodes, in place of what is there.
template <int D>
void deposit_charge(Patch<D>& patch, const Physics<D>& physics);

/// Orders the particles by cell, so that those at the same nodes are adjacent. Results do not change. Worth
/// it every 20 steps or so. Cost: O(particles + cells).
template <int D>
void sort_by_cell(Patch<D>& patch);

/// The leavers of each destination. Their order depends on that of `leavers` only.
template <int D>
struct Departure {
  std::int32_t part = 0;
  std::vector<Migrant<D>> particles;
};
template <int D>
[[nodiscard]] std::vector<Departure<D>> by_part(std::span<const Migrant<D>> leavers, const Division<D>& patches);

/// The cell that a position is in. Expects: inside the grid.
template <int D>
[[nodiscard]] Place<D> cell_of(const std::array<double, static_cast<std::size_t>(D)>& position) {
  Place<D> cell{};
  for (int d = 0; d < D; ++d) {
    cell[d] = static_cast<std::int32_t>(position[d]);
  }
  return cell;
}

/// A sum over the particles that differs between any two states, whatever the order and the patches: add those of all
/// patches modulo 2^64.
template <int D>
[[nodiscard]] std::uint64_t checksum(const Patch<D>& patch);

}  // namespace pic
