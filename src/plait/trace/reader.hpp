// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/error.hpp"
#include "plait/base/id.hpp"
#include "plait/trace/clock_alignment.hpp"
#include "plait/trace/event.hpp"
#include "plait/trace/meta.hpp"

namespace plait::trace {

struct TracedThread {
  WorkerId worker;  ///< Invalid for a thread that is no worker.
  std::string name;
};

/// A task of a graph. Its kind is a name of `Role::task`.
struct GraphTask {
  std::uint32_t graph = 0;
  std::uint32_t place = 0;
  TaskRole role = TaskRole::compute;
  NameId kind;
  friend bool operator==(const GraphTask&, const GraphTask&) = default;
};

/// Of two tasks of a graph, by place: `later` starts after the end of `earlier`.
struct Dependency {
  std::uint32_t graph = 0;
  std::uint32_t earlier = 0;
  std::uint32_t later = 0;
  friend bool operator==(const Dependency&, const Dependency&) = default;
};

/// How many calls or messages of a sum had each duration, by bin (`SumTimesEvent`).
using SumTimes = std::array<std::uint32_t, 24>;

/// The durations of all sums of a rank.
struct AllSumTimes {
  std::vector<SumTimes> calls;   ///< Of each of `RankEvents::sums`.
  std::vector<SumTimes> engine;  ///< Of each of `RankEvents::engine_sums`.
};

/// A task or a message of a flow, in the order of submission.
struct FlowTask {
  TaskRole role = TaskRole::compute;
  std::uint32_t communicator = 0;
  std::uint64_t id = 0;
  nanoseconds submitted{};
  Tag tag;
  std::int64_t priority = 0;
  std::vector<std::uint32_t> accesses;  ///< As in `FlowTaskEvent`.
};

/// The resources that a task of a graph locks.
struct GraphClaims {
  std::uint32_t graph = 0;
  std::uint32_t place = 0;
  std::vector<std::uint32_t> claims;  ///< As in `GraphClaimsEvent`.
};

/// What an execution of a task came after, of tasks of collections and deferred tasks.
struct TaskOrder {
  std::uint64_t id = 0;
  nanoseconds time{};                  ///< Within the execution.
  nanoseconds submitted{};             ///< By the program outside of tasks; 0: it was not.
  std::vector<std::uint64_t> earlier;  ///< Ids of tasks.
};

/// The contents of one rank's file, by the rank's own clock; `ClockLine` converts times. Events of one thread are in
/// the order of recording.
struct RankTrace : RankEvents {
  using Names = std::map<NameId, std::string>;

  Rank rank;
  std::uint32_t rank_count = 0;
  nanoseconds wall_clock{};  ///< At time 0, since the Unix epoch.
  nanoseconds clock{};       ///< The rank's monotonic clock at time 0.
  std::vector<TracedThread> threads;
  std::array<Names, role_count> names;
  std::vector<GraphTask> graph_tasks;
  std::vector<Dependency> dependencies;
  std::vector<FlowTask> flow_tasks;
  std::vector<GraphClaims> graph_claims;
  std::vector<TaskOrder> task_orders;
  /// Members of communicators, as ranks of the run; `nothing` for those that the file does not have.
  std::map<std::uint32_t, std::vector<std::uint32_t>> communicators;
  std::map<std::uint32_t, std::vector<std::uint64_t>> shares;  ///< Of a vector collective, by number of the call.
  AllSumTimes sum_times;
  nanoseconds last_event{};  ///< The latest time of any event.
  /// Invalid records that were left out, in sentences that name the file.
  std::vector<std::string> notices;

  /// The text of a name; "#7" for number 7 without a text in the file.
  [[nodiscard]] std::string name(Role role, NameId id) const;
};

/// Reads a rank's file, also of a killed run. Leaves out invalid events, with a notice. Error: `bad_input` or `io` with
/// the file's name when the header is invalid. Cost: memory for all events, about the size of the file.
[[nodiscard]] Result<RankTrace> read_rank_trace(const std::filesystem::path& file);

/// A whole run.
struct RunTrace {
  Meta meta;
  std::vector<RankTrace> ranks;  ///< Index is rank.

  /// Converts times of `rank` to those of rank 0.
  [[nodiscard]] ClockLine clock_line(Rank rank) const;
};

/// Reads a run's folder. Error: as above, also when a rank's file is missing or has another number of ranks. Without
/// meta.json (rank 0 was killed at once) `meta` is empty.
[[nodiscard]] Result<RunTrace> read_run(const std::filesystem::path& folder);

}  // namespace plait::trace
