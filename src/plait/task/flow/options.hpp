// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "plait/base/id.hpp"
#include "plait/comm/status.hpp"
#include "plait/task/flow/kind.hpp"

namespace plait::task {

/// When to check whether kernels write what they declared as only read: costs two readings of all such data.
enum class ReadChecks : std::uint8_t { in_debug_builds, always, never };

/// Several readers of a datum: one message that they pass on, or one for each.
enum class Fanout : std::uint8_t { multicast, single_messages };

/// How a flow behaves. All ranks must use the same.
struct FlowOptions {
  /// Tasks and messages of this rank that have not ended, above which `submit` executes tasks until a quarter of them
  /// has ended.
  std::uint32_t window = 4096;
  /// A buffer for what a task reads from another rank is allocated when fewer than so many tasks are before it.
  std::uint32_t receive_ahead = 256;
  /// Memory for copies of other ranks' data.
  std::size_t copy_bytes_max = std::numeric_limits<std::size_t>::max();
  Fanout fanout = Fanout::multicast;
  ReadChecks read_checks = ReadChecks::in_debug_builds;
};

/// What a task is besides its kernel and its data.
struct SubmitOptions {
  /// What it is called; by default as the kernel's type.
  FlowKind kind = {};
  /// Of ready tasks the larger is executed first, and its messages are sent first.
  int priority = 0;
  /// Where to execute it; by default on the owner of the first datum that it writes, or else of its first datum.
  Rank on = {};
};

/// What a flow has done on this rank since it was made.
struct FlowStatistics {
  std::uint64_t submitted = 0;  ///< On all ranks: each submits all.
  std::uint64_t executed = 0;
  std::uint64_t messages_sent = 0;  ///< A multicast is one.
  std::uint64_t ranks_sent_to = 0;  ///< Summed over the messages.
  std::uint64_t bytes_sent = 0;     ///< To all of these ranks, also where others pass them on.
  std::uint64_t messages_received = 0;
  std::uint64_t records_peak = 0;   ///< Tasks and messages, and steps towards them, that were kept at once.
  std::size_t copy_bytes = 0;       ///< Memory that copies take now,
  std::size_t copy_bytes_peak = 0;  ///< and have taken at most.
};

}  // namespace plait::task
