// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "plait/comm/endpoint.hpp"
#include "plait/task/flow/detail/data_store.hpp"
#include "plait/task/flow/detail/datum.hpp"
#include "plait/task/flow/detail/program_check.hpp"
#include "plait/task/flow/detail/record.hpp"
#include "plait/task/flow/detail/records.hpp"
#include "plait/task/flow/detail/submission_log.hpp"
#include "plait/task/flow/detail/transfer_check.hpp"
#include "plait/task/flow/detail/values.hpp"
#include "plait/task/flow/options.hpp"

namespace plait::task::detail {

/// Implements `Flow`: creates records for submissions that concern this rank. Logs those that all ranks must make:
/// every one, or in a flow of own tasks new data and waits. Threads: the submitting one.
class FlowEngine {
 public:
  FlowEngine(comm::Endpoint& endpoint, Scheduler& scheduler, trace::Recorder& recorder, const FlowOptions& options);
  FlowEngine(const FlowEngine&) = delete;
  FlowEngine& operator=(const FlowEngine&) = delete;
  ~FlowEngine();

  // ---- data ----
  [[nodiscard]] Datum& add(Rank owner, std::size_t bytes, std::byte* memory);
  [[nodiscard]] DataStore::Grid& add_grid(GridLayout layout);
  [[nodiscard]] const DataStore& data() const noexcept { return data_; }
  [[nodiscard]] std::span<std::byte> local_bytes(Datum& datum);
  [[nodiscard]] const KindName& kind(std::string_view name) { return records_.kinds().kind(name); }

  // ---- submission ----
  /// Submits a task. Returns its record if this rank executes it, else null.
  [[nodiscard]] Record* enter(const KindName& kind, const SubmitOptions& options, std::span<const AccessNote> accesses);
  /// Creates a task of this rank only.
  [[nodiscard]] Record& enter_local(const KindName& kind, int priority);
  void launch(Record& task);
  void send(const AccessNote& access, std::span<const Rank> to, int priority);
  void flush(Datum& datum);
  void wait();
  [[nodiscard]] FlowStatistics statistics() const;
  [[nodiscard]] bool has_failed() noexcept { return records_.front().has_failed(); }
  /// Ends the run, before a failed flow's memory is left to the endpoint.
  void abandon() noexcept;
  /// Returns whether no run is open.
  [[nodiscard]] bool is_quiet() noexcept { return !records_.front().is_open(); }

 private:
  [[nodiscard]] bool submits_every_task() const noexcept { return options_.submission == Submission::every_task; }
  void note_submission(const KindName& kind, Rank executes, std::span<const AccessNote> accesses);
  [[nodiscard]] bool concerns(Rank executes, std::span<const AccessNote> accesses) const noexcept;
  [[nodiscard]] Record* enter_here(const KindName& kind,
                                   int priority,
                                   Rank executes,
                                   std::span<const AccessNote> accesses);
  void bring_inputs(const KindName& kind, int priority, Rank executes, std::span<const AccessNote> accesses);
  void expect_rank(const KindName& kind, Rank rank);
  void expect_owner_writes(const KindName& kind, Rank executes, std::span<const AccessNote> accesses);
  void open();
  void help_until(const std::function<bool()>& is_done);
  void throttle();
  void check_periodically();
  void poll_checks(int polls);
  void throw_if_named_twice(std::span<const AccessNote> accesses);

  comm::Endpoint& endpoint_;
  const FlowOptions options_;
  const Rank self_;
  comm::ClaimedComms comms_;
  SubmissionLog log_;
  ProgramCheck check_;
  std::uint64_t submitted_ = 0;
  DataStore data_;
  Records records_;
  std::optional<TransferCheck> transfers_;  ///< Of a flow of own tasks.
  Values values_;
};

}  // namespace plait::task::detail
