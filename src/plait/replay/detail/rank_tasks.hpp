// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plait/replay/detail/run_builder.hpp"
#include "plait/replay/task_run.hpp"
#include "plait/trace/reader.hpp"

namespace plait::replay::detail {

/// One execution of a task. A task that continues later has several.
struct Execution {
  std::uint32_t node = RunNode::none;
  std::uint32_t gate = RunNode::none;  ///< Ends when it and all that it has spawned have ended; none without such.
  std::uint32_t thread = 0;            ///< Index into `RankTrace::threads`.
  const trace::TaskEvent* event = nullptr;
  nanoseconds start{};  ///< Since the beginning of the run, by rank 0's clock, as is the next.
  nanoseconds end{};

  /// What others wait for.
  [[nodiscard]] std::uint32_t out() const noexcept { return gate == RunNode::none ? node : gate; }
};

/// One run of a graph, or an open run.
struct StepOfRank {
  nanoseconds start{};
  nanoseconds end{};
  std::vector<std::uint32_t> executions;  ///< Indices into `RankTasks::executions`.
  std::vector<std::uint32_t> joins;       ///< Nodes of the graph's joins.
};

/// A message that a flow sends or receives.
struct FlowMessage {
  std::uint32_t node = RunNode::none;
  bool is_send = false;
  std::uint32_t communicator = 0;
  std::uint64_t tag = 0;
};

/// A task of a flow when it was submitted.
struct Submission {
  std::uint32_t node = RunNode::none;
  std::uint32_t step = 0;
  nanoseconds at{};
};

/// A time in which worker 0 executed the program although tasks of an open run were ready.
struct ProgramGap {
  nanoseconds from{};
  nanoseconds until{};
  std::uint32_t before = RunNode::none;  ///< Index into `RankTasks::executions`: what it executed last.
};

/// That an execution came after a task of another rank, which had sent it a message.
struct RemoteOrder {
  std::uint32_t node = RunNode::none;
  std::uint32_t rank = 0;
  std::uint64_t id = 0;  ///< Of the task, in the trace of its rank.
};

/// The tasks of one rank as nodes, and what orders them on this rank: graphs, flows, spawning.
class RankTasks {
 public:
  /// Borrows all. `origin`: the beginning of the run by rank 0's clock.
  RankTasks(RunBuilder& builder, const trace::RankTrace& trace, trace::ClockLine clock, nanoseconds origin);

  /// Adds the nodes of all tasks in these steps, and all that orders them. Once.
  void add(StepRange steps);

  [[nodiscard]] const std::vector<Execution>& executions() const noexcept { return executions_; }  ///< By start.
  [[nodiscard]] const std::map<std::uint32_t, StepOfRank>& steps() const noexcept { return steps_; }
  [[nodiscard]] const std::vector<FlowMessage>& flow_messages() const noexcept { return flow_messages_; }
  [[nodiscard]] const std::vector<Submission>& submissions() const noexcept { return submissions_; }
  [[nodiscard]] const std::vector<ProgramGap>& program_gaps() const noexcept { return program_gaps_; }
  [[nodiscard]] const std::vector<RemoteOrder>& remote_orders() const noexcept { return remote_orders_; }
  [[nodiscard]] const trace::RankTrace& trace() const noexcept { return trace_; }
  /// A time of this rank since the beginning of the run.
  [[nodiscard]] nanoseconds since_origin(nanoseconds time) const { return clock_.to_rank_zero(time) - origin_; }
  /// The last execution of a task that had begun before a time; null when there is none.
  [[nodiscard]] const Execution* last_begun_before(std::uint64_t id, nanoseconds at) const;
  /// The time that tasks took on worker 0, between two times.
  [[nodiscard]] nanoseconds busy_on_main(nanoseconds from, nanoseconds until) const;
  /// The execution on a thread at a time; null when there is none.
  [[nodiscard]] const Execution* running(std::uint32_t thread, nanoseconds at) const;

 private:
  void add_executions(StepRange steps);
  void add_gaps();
  void continue_and_spawn();
  void order_graphs(StepRange steps);
  void order_run(const trace::GraphRunEvent& run, StepOfRank& step);
  void add_claims(std::uint32_t graph, std::uint32_t place, std::uint32_t node);
  void order_flows(StepRange steps);
  void order_recorded();
  void order_others();
  [[nodiscard]] const Execution* last_of(std::uint64_t id) const;
  /// The last execution of a task that had ended at a time; null when there is none.
  [[nodiscard]] const Execution* last_before(std::uint64_t id, nanoseconds at) const;
  [[nodiscard]] std::uint32_t worker_of(std::uint32_t thread) const;

  RunBuilder& builder_;
  const trace::RankTrace& trace_;
  trace::ClockLine clock_;
  nanoseconds origin_;
  std::vector<Execution> executions_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> of_id_;  ///< Executions of a task, by start.
  std::vector<std::vector<std::uint32_t>> of_thread_;                    ///< Of tasks that occupy a worker, by start.
  std::map<std::uint32_t, StepOfRank> steps_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> resources_;  ///< By graph and number.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> identities_;
  std::vector<FlowMessage> flow_messages_;
  std::vector<Submission> submissions_;
  std::vector<ProgramGap> program_gaps_;
  std::vector<RemoteOrder> remote_orders_;
};

}  // namespace plait::replay::detail
