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

/// The fields on a node: three components of the electric field, three of the magnetic field.
using NodeField = std::array<double, 6>;
/// Charge that crosses the face behind a node during a step, along each axis, in quanta. In two dimensions the third is
/// charge times distance in z.
using NodeCurrent = std::array<Quanta, 3>;

/// A box of cells with the particles in it, and the tiles that it exchanges with the solver. It can move between ranks:
/// it holds no pointer, and no place.
///
/// A step: the caller copies the solver's fields into `fields` and calls `Problem::move_particles`; leavers are handed
/// to their patches, which `take` them; in an electrostatic run the caller calls `deposit_charge`; `current` or
/// `charge` are added to the solver's (`pieces_of`, `transfer.hpp`).
template <int D>
struct Patch {
  Patch() = default;
  Patch(const Box<D>& cells, const Physics<D>& physics);

  Box<D> cells;
  std::vector<Particles<D>> species;  ///< As many as `Physics::species`.
  Tile<D, NodeField> fields;          ///< On the nodes that its particles feel.
  Tile<D, NodeCurrent> current;       ///< Deposits of the last step, in electromagnetic runs.
  Tile<D, Quanta> charge;             ///< Deposits of the last `deposit_charge`.
  std::uint64_t absorbed = 0;         ///< Particles that ended in this patch, since the beginning.

  [[nodiscard]] std::uint64_t particle_count() const;

  /// Moves all particles by a step: gathers the fields, accelerates and moves the particles, adds their currents to
  /// `current`, and applies the borders. Removes particles that are outside the patch afterwards, and adds them to
  /// `leavers`, wherever in the grid they are; counts those that a wall absorbs.
  ///
  /// Momenta go from half a step before the fields' time to half a step after it: J. P. Boris, "Relativistic plasma
  /// simulation: optimization of a hybrid code", 4th Conference on Numerical Simulation of Plasmas, 1970. Currents:
  /// T. Zh. Esirkepov, Computer Physics Communications 135 (2001) 144; they and the charges of `deposit_charge` satisfy
  /// continuity up to a quantum a particle. Throws: `plait::Error` that names particle and cell when a position becomes
  /// a NaN, or, in an electromagnetic run, a particle moves by more than a cell. Cost: O(particles + nodes); allocates
  /// only for leavers.
  void advance(const Physics<D>& physics, std::vector<Migrant<D>>& leavers);
  /// Adds particles. Expects: they are inside.
  void take(std::span<const Migrant<D>> arrivals);
  /// Sets `charge` to the deposits of all particles.
  void deposit_charge(const Physics<D>& physics);
  /// Sorts the particles by cell, so that those at the same nodes are adjacent, about every 20 steps. Results do not
  /// change. Cost: O(particles + cells).
  void sort_by_cell();
  /// A sum over the particles that differs between any two states, independent of order and patches: add those of all
  /// patches modulo 2^64.
  [[nodiscard]] std::uint64_t checksum() const;

  /// Without the tiles, which stay where the patch was.
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cells, species, absorbed);
  }
};

/// The leavers with one destination. Their order depends on that of `leavers` only.
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

}  // namespace pic
