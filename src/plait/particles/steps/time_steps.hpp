// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "plait/particles/store/particles.hpp"
#include "plait/task/time_line.hpp"

namespace plait::particles {

enum class StepLengths : std::uint8_t {
  fixed,       ///< All particles take steps of one given length.
  equal,       ///< All particles take the shortest step that any needs.
  individual,  ///< Each particle has its own.
};

/// Sets `longest[k]` to the longest step that the particle `places[k]` may take now, if it is shorter than what it is.
/// Any worker calls it, concurrently for different particles.
using StepCriterion =
    std::function<void(const Particles& store, std::span<const Particles::Index> places, std::span<double> longest)>;

/// The lengths of steps. Criteria choose those that are not fixed: the span from `begin` to `end` divided by powers of
/// two. Such a step begins at a multiple of its length (`task::TimeLine`).
struct TimeSteps {
  StepLengths lengths = StepLengths::fixed;
  double step = 0;                                            ///< The length of fixed steps.
  double begin = 0;                                           ///< The time of the particles.
  double end = 1;                                             ///< The end of the last step; fixed steps have none.
  double step_max = std::numeric_limits<double>::infinity();  ///< Also where criteria allow longer ones.
  double step_min = 0;  ///< A particle that needs a shorter step ends the run. At least 2^-55 of the span.
};

/// The state of each particle's step.
struct StepFields {
  Particles& store;

  Field<std::uint8_t> bin = store.add_field<std::uint8_t>("time bin");  ///< Of its step.
  /// The bin that neighbours read: changes only between stages that read it.
  Field<std::uint8_t> bin_seen = store.add_field<std::uint8_t>("time bin seen");
  Field<task::Ticks> begin = store.add_field<task::Ticks>("begin of step");  ///< Of its step.
};

/// The place of a run on its time line, and its domains: with these, and all fields of its particles, it goes on as if
/// it had not ended (`System::save_steps`, `SystemOptions::resumed`).
struct SavedSteps {
  StepLengths lengths = StepLengths::fixed;
  double begin = 0;  ///< Of the time line, with `end`: those of `TimeSteps`.
  double end = 1;
  task::Ticks now = 0;       ///< Of steps that are not fixed.
  task::TimeBin next;        ///< Of the next equal step of all particles without cells; invalid: not chosen.
  task::TimeBin slow;        ///< Of the steps of the slow force (`System::add_slow_force`); invalid: there is none.
  std::uint64_t count = 0;   ///< The steps before.
  std::vector<double> cuts;  ///< The domain boundaries of all ranks (`System::gather_cuts`).
};

/// The result of a step.
struct StepResult {
  double time = 0;                 ///< Of its end.
  double step = 0;                 ///< Since the previous step.
  std::uint64_t updated = 0;       ///< Particles of all ranks whose own step ended; 0 without cells.
  std::uint64_t updated_here = 0;  ///< Those of this rank.
  bool made_cells = false;         ///< Particles were distributed and neighbours listed before it.
};

}  // namespace plait::particles
