// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plait/base/error.hpp"
#include "plait/replay/grid.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// Generates an exchange from a description; the same text gives the same exchange on every machine.
///
/// A description has `key=value` pairs, separated by commas. Each key has a default (`synthetic_help()` lists them):
/// `pattern=halo,ranks=8,mean=6KiB,distribution=exponential,steps=10,compute=2ms,overlap=1ms,seed=7`. In each step,
/// every rank computes, starts its receives and sends, computes (`overlap`), and waits for all of them. `pairs` is the
/// number of messages of a step over all ranks. Error: `bad_argument` with the valid values. Cost: memory for all
/// operations.
[[nodiscard]] Result<Schedule> synthetic_schedule(std::string_view description);

/// The grid of the ranks of such an exchange: of halo, nearest and all-to-all; nothing for the others. Error: as above.
[[nodiscard]] Result<std::optional<RankGrid>> synthetic_grid(std::string_view description);

/// Lists the keys of a description, one a line.
[[nodiscard]] std::string synthetic_help();

}  // namespace plait::replay
