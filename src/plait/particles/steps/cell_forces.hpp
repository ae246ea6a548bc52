// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plait/particles/domains/domain.hpp"
#include "plait/particles/interaction.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/space.hpp"
#include "plait/task/time_line.hpp"

namespace plait::particles {

/// Forces between all particles of all ranks, such as gravity, in steps with individual time steps: they are summed for
/// active particles, in the same task graph as the stages.
///
/// Ranks exchange what they know of each other in some steps, such as trees; in the others, each predicts it from the
/// last exchange, and no rank waits.
struct CellForces {
  std::vector<Interaction*> interactions = {};  ///< Borrowed; they outlive the steps.
  Space space = {};
  std::optional<DomainGrid> grid = {};  ///< Of the ranks' domains; absent: that of `cubic_grid`.
  /// The duration by which positions drift between two times.
  std::function<double(task::Ticks from, task::Ticks to)> drift_duration = {};
  Field<Vector> velocity = {};                                  ///< By which positions drift.
  std::function<task::Ticks(std::uint32_t cell)> drifted = {};  ///< The time of the positions of an own cell.
  std::string after = {};                                       ///< The stage that drifts active cells to the present.
  std::string before = {};                                      ///< The first stage that reads the forces.
  /// Ranks exchange again when this fraction of all particles has been updated since: their motion has changed.
  double exchange_fraction = 0.1;
  /// Summed only in steps in which this bin is active; invalid: in each. All particles have this bin or shorter ones.
  task::TimeBin every = {};
};

}  // namespace plait::particles
