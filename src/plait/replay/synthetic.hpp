// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "plait/base/error.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// An exchange made up from a description, the same for the same text on every machine.
///
/// `key=value` pairs, separated by commas; all have a default (`synthetic_help()` lists them):
/// `pattern=halo,ranks=8,mean=6KiB,distribution=exponential,steps=10,compute=2ms,overlap=1ms,seed=7`. In each step
/// every rank computes, begins its receives and sends, computes (`overlap`), and waits for them all. `pairs` is the
/// number of messages of a step over all ranks. Error: `bad_argument` with what is possible instead. Cost: memory for
/// all operations.
[[nodiscard]] Result<Schedule> synthetic_schedule(std::string_view description);

/// What a description may contain, a line a key.
[[nodiscard]] std::string synthetic_help();

}  // namespace plait::replay
