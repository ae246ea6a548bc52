// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/replay/detail/rank_tasks.hpp"
#include "plait/replay/detail/run_builder.hpp"
#include "plait/trace/reader.hpp"

namespace plait::replay::detail {

/// One end of a message that is no task: of the program between graphs, of a collective, or posted inside a task.
struct LooseEnd {
  std::uint32_t node = RunNode::none;
  std::uint32_t communicator = 0;
  std::uint32_t thread = 0;
  bool is_send = false;
  bool is_placed = false;  ///< What posts it is known.
  nanoseconds posted{};    ///< Since the beginning of the run, as are the next.
  nanoseconds arrived{};
  nanoseconds completed{};
};

/// Adds the messages of a run that have two ends, and nodes for the ends that are no tasks. Returns those by rank, in
/// the order of posting. Messages outside of the time of the rank's tasks are left out, as are those of the runtime.
[[nodiscard]] std::vector<std::vector<LooseEnd>> add_messages(RunBuilder& builder,
                                                              const trace::RunTrace& run,
                                                              const std::vector<RankTasks>& ranks);

}  // namespace plait::replay::detail
