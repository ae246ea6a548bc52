// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/error.hpp"
#include "plait/trace/reader.hpp"

namespace plait::replay {

/// What a node of a recorded run does.
enum class NodeRole : std::uint8_t {
  task,     ///< Occupies a worker for `took`.
  program,  ///< The program outside of tasks: occupies worker 0 of its rank.
  send,     ///< Ends when its messages have left their buffer. Occupies no worker.
  receive,  ///< Ends when its message is there. Occupies no worker.
  join,     ///< Orders others; takes no time.
};

/// A task, a message task, or a part of the program, with what comes after it.
struct RunNode {
  static constexpr std::uint32_t none = 0xffff'ffff;

  NodeRole role = NodeRole::join;
  bool leads_to_send = false;
  bool is_spawned = false;  ///< By a task that gave it no cost: the newest is the next.
  std::uint32_t rank = 0;
  std::uint32_t worker = 0;  ///< Of its rank: the one that executed it in the trace.
  std::uint32_t step = 0;
  std::uint32_t kind = none;       ///< Index in `TaskRun::kinds`.
  std::uint32_t identity = none;   ///< Of a task of a graph: the same in all its runs.
  std::uint32_t continues = none;  ///< The execution of the same task before this one.
  std::uint32_t earlier = 0;       ///< Nodes that must end first; a task that spawns it is one.
  float weight_ns = 0;             ///< Longest path to the end; of a flow's task: its priority.
  nanoseconds took{};
  nanoseconds stolen{};  ///< Of it: what messages that moved meanwhile took of the processor.
  nanoseconds lag{};     ///< From its last known cause until it was ready, if the trace does not explain it.
  nanoseconds before{};  ///< Time of its worker from the end of the task before to its start.
  nanoseconds start{};   ///< In the trace, since the beginning of the run, as is the next.
  nanoseconds end{};
};

/// That a task spawns another, `after` its start.
struct Spawning {
  std::uint32_t child = 0;
  nanoseconds after{};
};

/// A message from a send node to a receive node.
struct RunMessage {
  std::uint32_t send = RunNode::none;
  std::uint32_t receive = RunNode::none;
  std::uint64_t bytes = 0;
  bool is_eager = true;
  nanoseconds posted{};  ///< When the later of the ends that matter was posted, in the trace.
  nanoseconds took{};    ///< From then until the bytes had arrived; 0: not recorded.
  nanoseconds left{};    ///< When they had left the sender's buffer, in the trace.
};

/// That a node locks or shares a resource.
struct NodeClaim {
  std::uint32_t resource = 0;
  bool is_shared = false;
};

/// What messages take of the processor of a running task, while they arrive or leave.
struct StolenRate {
  double ns_per_byte = 0;    ///< 0: nothing, or not known.
  bool is_measured = false;  ///< By the thread that polls; else estimated from tasks.
};

/// Lists of entries for each of a number of nodes.
template <class Entry>
struct ListOf {
  std::vector<std::uint32_t> first;  ///< Of each node, and the end.
  std::vector<Entry> entries;

  [[nodiscard]] std::span<const Entry> of(std::uint32_t node) const noexcept {
    return node + 1 < first.size() ? std::span{entries}.subspan(first[node], first[node + 1] - first[node])
                                   : std::span<const Entry>{};
  }
};

/// A recorded run as what depended on what, of all ranks.
struct TaskRun {
  std::uint32_t ranks = 0;
  std::uint32_t workers = 1;       ///< Of each rank.
  std::vector<std::string> hosts;  ///< Of each rank, if the trace has them.
  std::vector<std::string> kinds;  ///< Names of kinds of tasks.
  std::uint32_t identities = 0;    ///< Number of different tasks of graphs.
  std::vector<RunNode> nodes;
  ListOf<std::uint32_t> later;  ///< Nodes that wait for the end of each.
  ListOf<Spawning> spawns;
  ListOf<NodeClaim> claims;
  std::vector<std::uint32_t> resource_above;  ///< Of each resource: the one above it, or `RunNode::none`.
  std::vector<RunMessage> messages;
  ListOf<std::uint32_t> sent;           ///< Messages of each send node.
  std::vector<std::uint32_t> received;  ///< The message of each node, or `RunNode::none`.
  StolenRate stolen;                    ///< What messages take of the processor.
  nanoseconds origin{};                 ///< The beginning of the run, by rank 0's clock.
  nanoseconds length{};                 ///< From the first task or message to the end of the last.
  std::vector<std::string> notices;
};

/// Returns the tasks of a run and what ordered them: graphs, flows, spawning, messages, and the program between runs of
/// graphs. All times are by rank 0's clock.
///
/// A task whose dependencies are not in the trace starts after the one that made it ready. What the trace cannot
/// explain (an event outside) keeps its time after what came before. `steps`: takes only steps from `first` to `last`.
/// Error: `bad_input` for a run without tasks, or without these steps. Cost: sorts tasks and messages; about 300 bytes
/// of memory for each.
struct StepRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0xffff'ffff;
};
[[nodiscard]] Result<TaskRun> tasks_of_run(const trace::RunTrace& run, StepRange steps = {});

/// As above, for the run in a folder.
[[nodiscard]] Result<TaskRun> tasks_of_folder(const std::filesystem::path& folder, StepRange steps = {});

}  // namespace plait::replay
