// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/task/flow/detail/datum.hpp"
#include "plait/task/flow/detail/program_check.hpp"
#include "plait/task/flow/detail/record.hpp"
#include "plait/task/flow/detail/records.hpp"
#include "plait/task/flow/detail/submission_log.hpp"
#include "plait/task/flow/detail/values.hpp"
#include "plait/task/flow/options.hpp"

namespace plait::task::detail {

/// Implements `Flow`: logs every submission, and creates records for those that concern this rank. Threads: the
/// submitting one.
class FlowEngine {
 public:
  FlowEngine(comm::Endpoint& endpoint, Scheduler& scheduler, trace::Recorder& recorder, const FlowOptions& options);
  FlowEngine(const FlowEngine&) = delete;
  FlowEngine& operator=(const FlowEngine&) = delete;
  ~FlowEngine();

  // ---- data ----
  struct Piece {
    const std::string* collection = nullptr;
    std::uint32_t row = 0;
    std::uint32_t column = 0;
  };
  [[nodiscard]] Datum& add(Rank owner, std::size_t bytes, std::byte* memory, const Piece& piece);
  [[nodiscard]] const std::string& add_collection(std::string_view name) { return collections_.emplace_back(name); }
  [[nodiscard]] std::span<std::byte> local_bytes(Datum& datum);
  [[nodiscard]] const KindName& kind(std::string_view name) { return records_.kinds().kind(name); }

  // ---- submission ----
  /// Submits a task. Returns its record if this rank executes it, else null.
  [[nodiscard]] Record* enter(const KindName& kind, const SubmitOptions& options, std::span<const AccessNote> accesses);
  /// Creates a task of this rank only.
  [[nodiscard]] Record& enter_local(const KindName& kind, int priority);
  void launch(Record& task);
  void flush(Datum& datum);
  void wait();
  [[nodiscard]] FlowStatistics statistics() const;
  [[nodiscard]] bool has_failed() noexcept { return records_.front().has_failed(); }
  /// Ends the run, before a failed flow's memory is left to the endpoint.
  void abandon() noexcept;
  /// Returns whether no run is open.
  [[nodiscard]] bool is_quiet() noexcept { return !records_.front().is_open(); }

 private:
  [[nodiscard]] bool concerns(Rank executes, std::span<const AccessNote> accesses) const noexcept;
  [[nodiscard]] Record* enter_here(const KindName& kind,
                                   int priority,
                                   Rank executes,
                                   std::span<const AccessNote> accesses);
  void open();
  void help_until(const std::function<bool()>& is_done);
  void throttle();
  void check_periodically();
  void throw_if_named_twice(std::span<const AccessNote> accesses);

  comm::Endpoint& endpoint_;
  const FlowOptions options_;
  const Rank self_;
  comm::ClaimedComms comms_;
  SubmissionLog log_;
  ProgramCheck check_;
  std::deque<Datum> data_;
  std::deque<std::string> collections_;  ///< Their names.
  std::vector<Place*> homes_;
  std::vector<std::byte*> home_memory_;
  Records records_;
  Values values_;
};

}  // namespace plait::task::detail
