// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// All messages and collectives with `factor` times their bytes, rounded; what had bytes keeps at least one.
/// Expects: `factor` is not negative.
void scale_bytes(Schedule& schedule, double factor);

/// All computing takes `factor` times as long; with 0 it is gone.
void scale_compute(Schedule& schedule, double factor);

/// One message in the place of all that go from one stream to another between the same waits: sent where the last of
/// them was, received where the first was, with all their bytes. Who waited for one of them waits for it. What if a
/// program packed its messages to each rank together? Cost: sorts the messages.
[[nodiscard]] Schedule aggregated(const Schedule& schedule);

}  // namespace plait::replay
