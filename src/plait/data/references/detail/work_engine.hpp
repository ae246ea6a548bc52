// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/base/executor.hpp"
#include "plait/base/spin_lock.hpp"
#include "plait/comm/completion.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/data/references/detail/stage.hpp"
#include "plait/task/detail/kernel_storage.hpp"
#include "plait/task/detail/node.hpp"
#include "plait/task/run/kinds.hpp"
#include "plait/task/run/run_front.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::data {

struct WorkOptions;

namespace detail {

class WorkEngine;

/// A deferred task: a task of an open run that starts when its values are computed. From a pool, until it has ended.
struct Job final : task::detail::Node, comm::Completion {
  explicit Job(WorkEngine& its_engine) : Node{task::TaskKind{0}}, engine{its_engine} {}

  // Of its message:
  void completed(const comm::Status& /*status*/) noexcept override {}
  void released(const comm::Status& status) noexcept override;

  WorkEngine& engine;
  bool is_to_start = false;  ///< Counts as an event whose end starts it: how threads that are no workers start jobs.
  bool has_run = false;
  nanoseconds submitted{};  ///< By the owner's thread outside of bodies; 0: not so, or not recorded.
  std::uint8_t use_count = 0;
  Job* next_ready = nullptr;

  static constexpr std::size_t uses_in_place = 4;
  std::array<Use, uses_in_place> few_uses;
  std::vector<Use> many_uses;  ///< In the place of `few_uses` where these are not enough.
  Stage* result = nullptr;     ///< Held.

  void (*call)(Job&) = nullptr;
  task::detail::KernelStorage<96> kernel;

  [[nodiscard]] std::span<Use> uses() noexcept {
    return {many_uses.empty() ? few_uses.data() : many_uses.data(), use_count};
  }
};

/// Runs the jobs of a `Work` in an open run. Jobs are created by its owner's thread and by bodies of other jobs.
class WorkEngine final : public task::detail::Ending {
 public:
  WorkEngine(comm::Endpoint& endpoint,
             task::Scheduler& scheduler,
             trace::Recorder& recorder,
             const WorkOptions& options);
  WorkEngine(const WorkEngine&) = delete;
  WorkEngine& operator=(const WorkEngine&) = delete;
  ~WorkEngine();

  /// Takes a job with room for `use_count` uses, which waits for its launch only.
  [[nodiscard]] Job& take(const task::detail::KindName& kind, std::size_t use_count);
  /// Starts a job when its values are computed. Throws: `Error`, after the run has failed.
  void launch(Job& job);
  /// Starts a job when a message from `from` has arrived in `buffer`.
  void launch_receive(Job& job, const comm::Address& from, Bytes& buffer);
  /// Adds a job that no worker executes: it ends when the message of `post_send` is sent.
  void expect_send(Job& job);
  /// Sends `data`, which must stay until the job has ended. From bodies.
  void post_send(Job& job, const comm::Address& to, std::span<const std::byte> data);

  /// Executes tasks until `mode` is possible. Throws: `Error` when it never will be, or when the run has failed.
  void help_until_free(Stage& stage, Mode mode);
  void wait();

  [[nodiscard]] const task::detail::KindName& kind(std::string_view name);
  [[nodiscard]] comm::Endpoint& endpoint() noexcept { return endpoint_; }
  /// The communicator of values that travel between ranks.
  [[nodiscard]] comm::CommId comm() const { return comms_[0]; }
  /// Ends the run on all ranks.
  [[noreturn]] void fail(const Error& error);

  // From any thread:
  void start_from_outside(Job& job) noexcept;
  void message_is_done(Job& job, const comm::Status& status) noexcept;
  void ended(task::detail::Node& node, task::detail::ReadySink& sink) noexcept override;

  [[nodiscard]] bool is_quiet() const noexcept { return !front_.is_open() && !front_.has_failed(); }
  void abandon() noexcept { front_.abandon(); }

 private:
  void execute(Job& job, task::TaskContext& context);
  void throw_if_failed();
  void throw_if_inside_a_body() const;
  void count_in(Job& job);
  void help_until(const std::function<bool()>& is_done, const char* wish, const Cell* of);
  void give(Job& job) noexcept;
  [[nodiscard]] std::string describe_waiting();
  [[nodiscard]] bool is_owner() const noexcept { return thread_number(endpoint_.executor()) == owner_; }

  comm::Endpoint& endpoint_;
  const comm::ClaimedComms comms_;
  const std::uint64_t owner_ = thread_number(endpoint_.executor());
  std::uint32_t bodies_of_owner_ = 0;  ///< That run on its thread now.
  trace::Recorder& recorder_;

  SpinLock lock_;  ///< Of all down to the next comment.
  std::vector<std::unique_ptr<Job>> all_;
  task::detail::Node* free_ = nullptr;
  task::KindTable kinds_;
  trace::ThreadRecorder& trace_;

  task::RunFront front_;  // last: its tasks use all the rest
};

}  // namespace detail
}  // namespace plait::data
