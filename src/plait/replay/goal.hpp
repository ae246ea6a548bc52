// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <iosfwd>

#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// Writes the exchange in the text form of GOAL, which LogGOPSim and its kin read (Hoefler, Siebert, Lumsdaine, "Group
/// operation assembly language", ICPP 2009).
///
/// Computing is `calc` in nanoseconds; sends and receives have tags of their own for each message, so that none can be
/// taken for another; a wait is a `calc 0` that requires all it waits for, and what comes after requires it. Streams
/// are `cpu`s. Collectives are written as messages (`without_collectives`); polls are not written. Throws: `Error` with
/// `io`.
void write_goal(const Schedule& schedule, std::ostream& out);
void write_goal(const Schedule& schedule, const std::filesystem::path& file);

}  // namespace plait::replay
