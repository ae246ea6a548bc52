// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "plait/replay/predict/platform.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// Sentences about what a platform has no data for: messages of ranks of one host without "within_host", messages
/// longer than the longest that was measured, and what ranks share that compute more slowly at once. Empty if there are
/// none. Messages of collectives do not count.
[[nodiscard]] std::vector<std::string> unmeasured(const Schedule& schedule, const Platform& platform);

}  // namespace plait::replay
