// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/task/flow/detail/copy_memory.hpp"
#include "plait/task/flow/detail/datum.hpp"
#include "plait/task/flow/detail/program_check.hpp"
#include "plait/task/flow/detail/record.hpp"
#include "plait/task/flow/detail/submission_log.hpp"
#include "plait/task/flow/options.hpp"
#include "plait/task/open_run.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::task::detail {

/// What is behind a `Flow`: every rank follows who has which datum; what concerns this rank becomes records that wait
/// for one another.
///
/// Submission (flow_engine.cpp, flow_data.cpp) is one thread's, and so are data and the lists of their places. Records
/// end in any worker (flow_end.cpp).
class FlowEngine final : public Ending {
 public:
  FlowEngine(comm::Endpoint& endpoint, Scheduler& scheduler, trace::Recorder& recorder, const FlowOptions& options);
  FlowEngine(const FlowEngine&) = delete;
  FlowEngine& operator=(const FlowEngine&) = delete;
  FlowEngine(FlowEngine&&) = delete;
  FlowEngine& operator=(FlowEngine&&) = delete;
  ~FlowEngine();

  // ---- data ----
  struct Piece {
    const std::string* collection = nullptr;
    std::uint32_t row = 0;
    std::uint32_t column = 0;
  };
  [[nodiscard]] Datum& add(Rank owner, std::size_t bytes, std::byte* memory, const Piece& piece);
  [[nodiscard]] const std::string& add_collection(std::string_view name);
  [[nodiscard]] std::span<std::byte> local_bytes(Datum& datum);
  [[nodiscard]] const KindName& kind(std::string_view name);

  // ---- submission ----
  /// Notes a task; a record for it if it is executed here, else null.
  [[nodiscard]] Record* enter(const KindName& kind, const SubmitOptions& options, std::span<const AccessNote> accesses);
  /// A task of this rank only.
  [[nodiscard]] Record& enter_local(const KindName& kind, int priority);
  void launch(Record& task);
  void flush(Datum& datum);
  void flush_all();
  void wait();
  [[nodiscard]] FlowStatistics statistics() const;
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }
  /// Gives up what only a living scheduler can do; before a failed flow's memory is left to the endpoint.
  void abandon() noexcept;
  /// Whether nothing is under way.
  [[nodiscard]] bool is_quiet() const noexcept { return !run_; }

  // ---- from records; any thread ----
  void execute(Record& record, TaskContext& context);
  void has_arrived(Record& record, const comm::Status& status) noexcept;
  void ended(Node& node, ReadySink& sink) noexcept override;
  void expect_end(Node& node) noexcept { run_->expect_end(node); }
  void has_ended(Node& node) noexcept { run_->has_ended(node); }

 private:
  // flow_engine.cpp
  [[nodiscard]] bool concerns(Rank executes, std::span<const AccessNote> accesses) const noexcept;
  [[nodiscard]] Record* enter_here(const KindName& kind,
                                   int priority,
                                   Rank executes,
                                   std::span<const AccessNote> accesses);
  void open();
  [[noreturn]] void fail(const Error& error);
  void throw_if_failed();
  [[nodiscard]] Record& make(Part part, const KindName& kind, int priority);
  void begin(Record& record);
  void help_until(const std::function<bool()>& is_done);
  void throttle();
  void check_ended();
  void bring_all_home();
  void count(Record& task);
  void now_and_then();
  void throw_if_memory_blocks();
  [[nodiscard]] std::string describe_waiting() const;
  [[nodiscard]] const Label& label(const KindName& kind);
  [[nodiscard]] std::uint32_t unfinished() const noexcept { return unfinished_.load(std::memory_order_acquire); }
  void throw_if_named_twice(std::span<const AccessNote> accesses);

  // flow_data.cpp
  [[nodiscard]] LocalDatum& local_of(Datum& datum);
  void throw_if_no_value(const Datum& datum, const char* wish);
  void bring(Datum& datum, Rank to, int priority);
  void send(Datum& datum, Place& place, Rank to, int priority);
  [[nodiscard]] bool join_transfer(LocalDatum& local, const comm::Destination& destination);
  void receive(Place& place, const comm::Address& from, int priority);
  [[nodiscard]] Place& new_copy(Datum& datum);
  [[nodiscard]] Place& new_writable_copy(Datum& datum);
  [[nodiscard]] Place& writable(Datum& datum);
  void list_copy(Datum& datum);
  void take_memory(Record& record, Place& place);
  void use_in_task(Record& task, Datum& datum, Mode mode);
  void written(Datum& datum, Rank by);
  void forget_present(Datum& datum);
  void forget_sent(LocalDatum& local);
  void begin_reduction(Datum& datum);
  void contribute(Record* task, Datum& datum, Rank executes);
  void set_neutral(Datum& datum, Place& place);
  void end_reduction(Datum& datum);
  void combine(Datum& datum, Rank contributor);
  void go_home(Datum& datum);

  // flow_places.cpp
  void attach(Record& record, Place& place, Mode mode, Datum* datum = nullptr);
  void depend_on_all(Record& record, std::vector<RecordName>& earlier);
  [[nodiscard]] bool depend(Record& record, const RecordName& earlier);
  [[nodiscard]] RecordName gate_after(std::vector<RecordName>& earlier);
  void note_reader(Place& place, const RecordName& reader);
  void retire(Place*& place) noexcept;
  void leave(Place& place) noexcept;
  [[nodiscard]] Tag tag_of(const Datum& datum) const noexcept {
    return Tag{std::uint64_t{datum.id} << 32U | datum.version};
  }

  // flow_end.cpp
  void hand_over(Record& record, ReadySink* sink) noexcept;
  void post_send(Record& record) noexcept;
  void post_receive(Record& record) noexcept;
  void end(Record& record, ReadySink* sink) noexcept;
  void give_memory(ReadySink* sink) noexcept;
  void begin_reading(Record& record);
  void end_reading(Record& record);

  comm::Endpoint& endpoint_;
  Scheduler& scheduler_;
  trace::Recorder& recorder_;
  const FlowOptions options_;
  const Rank self_;
  const bool checks_reads_;

  std::deque<Datum> data_;
  std::deque<std::string> names_;  ///< Of collections and kinds.
  std::deque<KindName> kinds_;
  std::unordered_map<const KindName*, std::unique_ptr<Label>> labels_;
  std::vector<Place*> homes_;
  std::vector<std::byte*> home_memory_;
  std::vector<Datum*> away_;      ///< Whose holder is perhaps not the owner.
  std::vector<Datum*> reducing_;  ///< That perhaps have contributions.
  std::vector<Datum*> copies_;    ///< That perhaps have a copy here.
  std::uint64_t epoch_ = 1;       ///< Counts waits: what was sent before one must be sent again after it.

  SubmissionLog log_;
  ProgramCheck check_;
  RecordPool pool_;
  CopyMemory memory_;
  bool has_failed_ = false;
  std::uint64_t task_count_ = 0;  ///< Tasks of this rank.

  // Written by workers, too.
  std::atomic<std::uint64_t> ended_tasks_ = 0;
  std::atomic<std::uint32_t> unfinished_ = 0;
  std::atomic<std::uint32_t> in_motion_ = 0;  ///< Records that will end whatever else happens on this rank.
  std::atomic<std::uint64_t> messages_sent_ = 0;
  std::atomic<std::uint64_t> ranks_sent_to_ = 0;
  std::atomic<std::uint64_t> bytes_sent_ = 0;
  std::atomic<std::uint64_t> messages_received_ = 0;

  std::optional<OpenRun> run_;  // last: its tasks use all the rest
};

}  // namespace plait::task::detail
