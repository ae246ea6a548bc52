// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "plait/base/id.hpp"
#include "plait/comm/status.hpp"
#include "plait/task/run/kinds.hpp"

namespace plait::task {

/// When to check that kernels do not write data that they declared as read. Cost: two reads of all such data.
enum class ReadChecks : std::uint8_t { in_debug_builds, always, never };

/// How a datum is sent to several readers: as one multicast, or as a message to each.
enum class Fanout : std::uint8_t { multicast, single_messages };

/// Which tasks of the program a rank submits.
enum class Submission : std::uint8_t {
  /// All tasks, the same on every rank. Each rank follows where every value is.
  every_task,
  /// Those that the rank executes. Of its data it sends what others read, with `Flow::send`, or as it submits the tasks
  /// that read them; of others' data it names the version that it reads. Tasks write where the data are owned.
  own_tasks,
};

/// Settings of a flow. All ranks must use the same.
struct FlowOptions {
  Submission submission = Submission::every_task;
  /// The number of unfinished tasks and messages of this rank at which `submit` executes tasks until a quarter has
  /// ended.
  std::uint32_t window = 4096;
  /// The number of tasks ahead of a task below which buffers are allocated for the data that it receives.
  std::uint32_t receive_ahead = 256;
  /// The limit of memory for copies of other ranks' data.
  std::size_t copy_bytes_max = std::numeric_limits<std::size_t>::max();
  Fanout fanout = Fanout::multicast;
  ReadChecks read_checks = ReadChecks::in_debug_builds;
};

/// Settings of a task.
struct SubmitOptions {
  /// The name of the task; default: the kernel's type.
  FlowKind kind = {};
  /// Of ready tasks, those of higher priority are executed first, and their messages are sent first.
  int priority = 0;
  /// The rank that executes it; default: the owner of the first datum that it writes, or else of its first datum.
  Rank on = {};
};

/// Statistics of a flow on this rank since its creation.
struct FlowStatistics {
  std::uint64_t submitted = 0;  ///< By this rank: tasks, its own and others', `send`, `flush` and `wait`.
  std::uint64_t executed = 0;
  std::uint64_t messages_sent = 0;  ///< A multicast is one.
  std::uint64_t ranks_sent_to = 0;  ///< Summed over the messages.
  std::uint64_t bytes_sent = 0;     ///< To all of these ranks, including forwarded data.
  std::uint64_t messages_received = 0;
  std::uint64_t records_peak = 0;   ///< The most records of tasks, messages and steps towards them at once.
  std::size_t copy_bytes = 0;       ///< Current memory of copies.
  std::size_t copy_bytes_peak = 0;  ///< Most memory of copies.
};

}  // namespace plait::task
