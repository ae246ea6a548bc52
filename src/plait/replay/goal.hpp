// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <iosfwd>

#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// Writes the exchange as GOAL text, for LogGOPSim (Hoefler, Siebert, Lumsdaine, "Group operation assembly language",
/// ICPP 2009).
///
/// Computing is `calc` in nanoseconds. Each message between two ranks has a tag of its own. A wait is a `calc 0` that
/// requires its operations, and is required by what follows. Streams are `cpu`s. Collectives are written as messages
/// (`without_collectives`); polls are omitted. Throws: `Error` with `io`.
void write_goal(const Schedule& schedule, std::ostream& out);
void write_goal(const Schedule& schedule, const std::filesystem::path& file);

}  // namespace plait::replay
