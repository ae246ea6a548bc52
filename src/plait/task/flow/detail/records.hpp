// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "plait/comm/endpoint.hpp"
#include "plait/task/flow/detail/copy_memory.hpp"
#include "plait/task/flow/detail/record.hpp"
#include "plait/task/flow/options.hpp"
#include "plait/task/run/kinds.hpp"
#include "plait/task/run/run_front.hpp"

namespace plait::task::detail {

/// What happens on this rank because of a flow: records from the pool to their ends, their messages, and the memory
/// that they wait for.
///
/// Threads: `make`, `begin` and all that waits: the submitting one. Records end in any worker.
class Records final : public Ending {
 public:
  Records(comm::Endpoint& endpoint, Scheduler& scheduler, trace::Recorder& recorder, const FlowOptions& options);
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  ~Records() = default;

  // ---- the submitting thread ----
  [[nodiscard]] Record& make(Part part, const KindName& kind, int priority);
  /// The record, a task, counts for what is near.
  void count(Record& task) noexcept;
  /// Lets a record start as soon as what it waits for has ended.
  void begin(Record& record);
  /// Has `record` wait until the next task of this rank is near and there is memory for `place`.
  void take_memory(Record& record, Place& place);
  /// Throws: `Error` when nothing on this rank moves by itself, so that only memory could help.
  void throw_if_memory_blocks();
  /// Ends the run, and frees what a failed one holds. Before places are destroyed.
  void drop_all() noexcept;
  [[nodiscard]] FlowStatistics statistics() const;
  [[nodiscard]] RunFront& front() noexcept { return front_; }
  [[nodiscard]] KindTable& kinds() noexcept { return kinds_; }
  [[nodiscard]] CopyMemory& memory() noexcept { return memory_; }

  // ---- any thread ----
  void execute(Record& record, TaskContext& context);
  void has_arrived(Record& record, const comm::Status& status) noexcept;
  void ended(Node& node, ReadySink& sink) noexcept override;
  void expect_end(Node& node) noexcept { front_.run().expect_end(node); }
  void has_ended(Node& node) noexcept { front_.run().has_ended(node); }

 private:
  void hand_over(Record& record, ReadySink* sink) noexcept;
  void post_send(Record& record) noexcept;
  void post_receive(Record& record) noexcept;
  void end(Record& record, ReadySink* sink) noexcept;
  void give_memory(ReadySink* sink) noexcept;
  [[nodiscard]] std::string describe_waiting() const;

  comm::Endpoint& endpoint_;
  const Rank self_;
  const bool checks_reads_;
  KindTable kinds_;
  RecordPool pool_;
  CopyMemory memory_;
  std::uint64_t task_count_ = 0;  ///< Tasks of this rank.

  // Written by workers, too.
  std::atomic<std::uint64_t> ended_tasks_ = 0;
  std::atomic<std::uint64_t> messages_sent_ = 0;
  std::atomic<std::uint64_t> ranks_sent_to_ = 0;
  std::atomic<std::uint64_t> bytes_sent_ = 0;
  std::atomic<std::uint64_t> messages_received_ = 0;

  RunFront front_;  // last: its tasks use all the rest
};

}  // namespace plait::task::detail
