// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/base/spin_lock.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/data/detail/job.hpp"
#include "plait/task/flow/kind.hpp"
#include "plait/task/open_run.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::data {

/// How work behaves.
struct WorkOptions {
  /// Works that have not ended, above which the thread that makes more executes some first.
  std::uint32_t window = 4096;
  /// For references between ranks: one that the program does not use itself. The same on all ranks.
  comm::CommId comm{0xf20'0000};
};

namespace detail {

/// What is behind a `Work`: jobs in an open run. Jobs are made by its owner's thread, or by bodies of other jobs.
class WorkEngine final : public task::detail::Ending {
 public:
  WorkEngine(comm::Endpoint& endpoint,
             task::Scheduler& scheduler,
             trace::Recorder& recorder,
             const WorkOptions& options);
  WorkEngine(const WorkEngine&) = delete;
  WorkEngine& operator=(const WorkEngine&) = delete;
  WorkEngine(WorkEngine&&) = delete;
  WorkEngine& operator=(WorkEngine&&) = delete;
  ~WorkEngine();

  /// A job with room for so many uses, which waits for its launch only.
  [[nodiscard]] Job& take(const task::detail::KindName& kind, std::size_t use_count);
  /// Throws: `Error`, after the run has failed.
  void launch(Job& job);
  /// A message that comes starts it. Throws: as `Endpoint::receive`.
  void launch_receive(Job& job, const comm::Address& from, Bytes& buffer);
  /// A job that nobody executes: it ends when `post_send` with it has sent. From `take`.
  void expect_send(Job& job);
  /// `data` must stay until the job has ended: give it to its kernel. From bodies.
  void post_send(Job& job, const comm::Address& to, std::span<const std::byte> data);

  /// Works until `mode` is possible. Throws: `Error` when it will never be, or the run has failed.
  void help_until_free(Stage& stage, Mode mode);
  void wait();

  [[nodiscard]] const task::detail::KindName& kind(std::string_view name);
  [[nodiscard]] comm::Endpoint& endpoint() noexcept { return endpoint_; }
  [[nodiscard]] const WorkOptions& options() const noexcept { return options_; }
  /// Ends the run on all ranks.
  [[noreturn]] void fail(const Error& error);

  // From any thread:
  void start_from_outside(Job& job) noexcept;
  void message_is_done(Job& job, const comm::Status& status) noexcept;
  void ended(task::detail::Node& node, task::detail::ReadySink& sink) noexcept override;

  [[nodiscard]] bool is_quiet() const noexcept { return !run_ && !has_failed_; }
  void abandon() noexcept { run_.reset(); }

 private:
  void execute(Job& job, task::TaskContext& context);
  void open();
  void throw_if_failed();
  void throw_if_inside_a_body() const;
  void count_in(Job& job);
  void help_until(const std::function<bool()>& is_done, const char* wish, const Cell* of);
  void give(Job& job) noexcept;
  [[nodiscard]] const task::detail::Label& label(const task::detail::KindName& kind);
  [[nodiscard]] std::string describe_waiting();

  comm::Endpoint& endpoint_;
  task::Scheduler& scheduler_;
  trace::Recorder& recorder_;
  const WorkOptions options_;
  const std::thread::id owner_ = std::this_thread::get_id();
  std::uint32_t bodies_of_owner_ = 0;  ///< That run on its thread now.
  bool has_failed_ = false;

  SpinLock lock_;  ///< Of all down to the next comment.
  std::vector<std::unique_ptr<Job>> all_;
  task::detail::Node* free_ = nullptr;
  std::unordered_map<const void*, std::unique_ptr<task::detail::Label>> labels_;
  std::unordered_map<std::string, task::detail::KindName> kinds_;
  const task::detail::KindName* last_kind_ = nullptr;  ///< Mostly the next one, too.
  const task::detail::Label* last_label_ = nullptr;

  std::atomic<std::uint32_t> unfinished_ = 0;
  std::atomic<std::uint32_t> in_motion_ = 0;  ///< That will end whatever the owner's thread does.

  std::optional<task::OpenRun> run_;  // last: its tasks use all the rest
};

}  // namespace detail
}  // namespace plait::data
