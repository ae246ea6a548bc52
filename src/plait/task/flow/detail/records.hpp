// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/task/detail/node_stack.hpp"
#include "plait/task/flow/detail/copy_memory.hpp"
#include "plait/task/flow/detail/record.hpp"
#include "plait/task/flow/detail/transfer.hpp"
#include "plait/task/flow/options.hpp"
#include "plait/task/run/kinds.hpp"
#include "plait/task/run/run_front.hpp"

namespace plait::task::detail {

/// Creates the records of a flow on this rank, starts and ends them, transfers their messages, and gives them memory.
///
/// Threads: the submitting one, but for the functions for any thread. Records end in any worker.
class Records final : public Ending {
 public:
  /// `comm`: of the flow's messages; names the thread that submits in traces.
  Records(comm::Endpoint& endpoint,
          Scheduler& scheduler,
          trace::Recorder& recorder,
          const FlowOptions& options,
          comm::CommId comm);

  // ---- the submitting thread ----
  /// Takes a free record, with nothing in it and one wait.
  [[nodiscard]] Record& make(Part part, const KindName& kind, int priority);
  /// Counts a task of this rank, by which `take_memory` judges what is near.
  void count(Record& task) noexcept;
  /// Starts a record as soon as all that it waits for has ended.
  void begin(Record& record);
  /// Has `record` wait until the next task of this rank is near and there is memory for `place`.
  void take_memory(Record& record, Place& place);
  /// Throws: `Error` when only more memory would let this rank continue.
  void throw_if_memory_blocks();
  /// Ends the run, and frees what a failed one holds. To be called before places are destroyed.
  void drop_all() noexcept;
  [[nodiscard]] FlowStatistics statistics() const;
  /// Returns the values of other ranks that have not arrived.
  [[nodiscard]] std::vector<Transfer> missing() const;
  [[nodiscard]] RunFront& front() noexcept { return front_; }
  [[nodiscard]] KindTable& kinds() noexcept { return kinds_; }
  [[nodiscard]] CopyMemory& memory() noexcept { return memory_; }

  // ---- any thread ----
  void execute(Record& record, TaskContext& context);
  void has_arrived(Record& record, const comm::Status& status) noexcept;
  void ended(Node& node, ReadySink& sink) noexcept override;

 private:
  void hand_over(Record& record, ReadySink* sink) noexcept;
  void post_send(Record& record) noexcept;
  void post_receive(Record& record) noexcept;
  void end(Record& record, ReadySink* sink) noexcept;
  void give_memory(ReadySink* sink) noexcept;
  [[nodiscard]] std::string describe_waiting() const;
  void trace(const Record& record);

  comm::Endpoint& endpoint_;
  const comm::CommId comm_;
  const bool checks_reads_;
  trace::Recorder& recorder_;
  trace::ThreadRecorder& trace_;  ///< Of the submitting thread.
  std::uint32_t places_in_trace_ = 0;
  std::vector<std::uint32_t> accesses_;  ///< Workspace of `trace`.
  KindTable kinds_;
  std::vector<std::unique_ptr<Record>> all_;  ///< In use or not.
  Node* free_ = nullptr;                      ///< Linked: those that `make` takes next.
  std::uint64_t serial_ = 0;
  CopyMemory memory_;
  std::uint64_t task_count_ = 0;  ///< Tasks of this rank.

  // Written by workers, too.
  NodeStack given_back_;  ///< Records that are free again.
  std::atomic<std::uint64_t> ended_tasks_ = 0;
  std::atomic<std::uint64_t> messages_sent_ = 0;
  std::atomic<std::uint64_t> ranks_sent_to_ = 0;
  std::atomic<std::uint64_t> bytes_sent_ = 0;
  std::atomic<std::uint64_t> messages_received_ = 0;

  RunFront front_;  // last: its tasks use all the rest
};

}  // namespace plait::task::detail
