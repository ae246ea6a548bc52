// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "cosmology/universe.hpp"

namespace cosmology {

/// Energies of all bodies, physical: of peculiar velocities, and of gravity without the mean density.
struct Energies {
  double kinetic = 0;
  double potential = 0;
  /// Their sum and what expansion has taken since the begin: constant (Irvine, 1961; Layzer, Astrophys. J. 138, 1963).
  double sum = 0;
};

/// Whether bodies, domains, forces and the state of steps are as they were when the run ended that goes on.
[[nodiscard]] bool is_in_place(const RunState& state, std::uint32_t ranks);

/// The time of individual steps at the begin of a step of the grid, in ticks.
[[nodiscard]] plait::task::Ticks own_steps_now(const RunState& state);

/// A periodic box of comoving bodies on the ranks of a runtime, by a kick-drift-kick leapfrog. All functions that
/// compute are collective, and throw as `plait::Runtime::run`.
class Simulation {
 public:
  /// Borrows `bodies`, which may be on any ranks. Computes a first force, unless `state` is of a run that goes on on as
  /// many ranks: then it has the forces of its last step. Completes `state`: the mesh, the softening and the grid of
  /// steps if these are 0. Steps are individual if bodies have their fields.
  /// Throws: `app::AgreedError` on every rank when there are fewer bodies than ranks, or fewer than 2,
  /// or two bodies at the same place without softening.
  Simulation(plait::Runtime& runtime, Bodies& bodies, const RunState& state);

  /// To a later scale factor; with individual steps, the end of the next step of `RunState::steps`.
  void step(double scale_factor);
  /// The updates of a body in a step, in the mean of this run: 1 with equal steps.
  [[nodiscard]] double updates_a_step() const;

  [[nodiscard]] const RunState& state() const noexcept { return state_; }
  /// The same with the domains of all ranks, for files. The next step then begins as in a run that goes on. Collective.
  [[nodiscard]] RunState whole_state();
  [[nodiscard]] Energies energies();
  /// Up to the shortest wave that the particles of a lattice have, on a mesh of twice as many points as particles.
  [[nodiscard]] plait::particles::PowerSpectrum power_spectrum();
  /// Groups of particles nearer than a fifth of their mean distance, of 20 or more; velocities are peculiar, angular
  /// momenta physical.
  [[nodiscard]] plait::particles::FriendGroups groups();
  /// The comoving distances from the centres of this rank's groups within which half of their mass is.
  [[nodiscard]] std::vector<double> half_mass_radii(const plait::particles::FriendGroups& groups);
  /// The times of this rank's steps since the last call.
  [[nodiscard]] plait::particles::StepTimes take_times() { return system_.take_times(); }

 private:
  /// Kinetic and potential energy of this rank's bodies.
  [[nodiscard]] Energies mine() const;
  void add_equal_steps();
  void add_own_steps();
  void run_own_steps();
  [[nodiscard]] plait::particles::PeriodicGravityOptions gravity_options() const;
  /// Sets the longest steps in the logarithm of the scale factor.
  void limit_steps(std::span<const Particles::Index> places, std::span<double> longest) const;
  /// Adds both parts of gravity after individual steps.
  void sum_parts();

  plait::Runtime& runtime_;
  Bodies& bodies_;
  RunState state_;
  Expansion expansion_;
  std::uint64_t count_;  ///< Bodies of all ranks.
  plait::particles::System system_;
  double first_kick_ = 0;  ///< The factors of the step under way.
  double drift_ = 0;
  double second_kick_ = 0;
  Energies last_;              ///< Of this rank, at the end of the last step.
  double taken_ = 0;           ///< By expansion from this rank's bodies.
  std::uint64_t updates_ = 0;  ///< Of bodies on all ranks,
  std::uint64_t steps_ = 0;    ///< in these steps of the grid.
};

}  // namespace cosmology
