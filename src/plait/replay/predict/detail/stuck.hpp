// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plait/replay/predict/detail/message_table.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay::predicting {

/// A lane that waits for ever, and one operation that its wait names.
struct StuckLane {
  std::uint32_t rank = 0;
  std::uint32_t place = 0;  ///< Of the wait in its lane.
  Operation operation;
};

/// Why a schedule cannot finish, in a sentence that names a message: best one that has no other end at all.
[[nodiscard]] std::string explain(const Schedule& schedule, const std::vector<StuckLane>& stuck);

/// Messages that were sent and never received, as sentences; the first few by name.
[[nodiscard]] std::vector<std::string> lost_messages(const MessageTable& messages);

}  // namespace plait::replay::predicting
