// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// Multiplies a size, rounded; a size above 0 remains at least 1, unless `factor` is 0.
[[nodiscard]] std::uint64_t scaled_bytes(std::uint64_t bytes, double factor);

/// Multiplies the sizes of all messages and collectives, rounded; sizes above 0 remain at least 1.
/// Expects: `factor` is not negative.
void scale_bytes(Schedule& schedule, double factor);

/// Multiplies the computing times; 0 removes them. Expects: `factor` is not negative.
void scale_compute(Schedule& schedule, double factor);

/// Returns the exchange as if the program packed its messages to each rank.
///
/// One message replaces all those from one stream to another between the same waits. It has the sum of their bytes, is
/// sent in place of the last and received in place of the first. A wait for one of them waits for it. Cost: sorts the
/// messages.
[[nodiscard]] Schedule aggregated(const Schedule& schedule);

}  // namespace plait::replay
