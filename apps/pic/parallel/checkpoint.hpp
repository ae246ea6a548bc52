// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "plait/plait.hpp"

#include "pic/ranks.hpp"
#include "pic/way.hpp"

namespace pic {

// A run as a checkpoint: the particles of each patch, and the solver's fields on each rank's block. Another way, other
// ranks and other patches may continue from it.

/// Returns this rank's part of the run, with the description of its problem. Cost: a copy of particles and fields. Not
/// collective.
template <int D>
[[nodiscard]] plait::data::Checkpoint to_checkpoint(GridWay<D>& way, const PoissonOptions& poisson);

/// Returns all that determines a run's result, by name, as text.
template <int D>
[[nodiscard]] std::map<std::string, std::string> description(const Problem<D>& problem, const PoissonOptions& poisson);

/// Continues a checkpointed run, of which this rank has read its part, in a way whose problem starts empty. Collective.
/// Throws: `plait::Error` when something is missing, or is not in the grid.
template <int D>
void go_on(GridWay<D>& way, const plait::data::Checkpoint& checkpoint, Ranks& ranks);

}  // namespace pic
