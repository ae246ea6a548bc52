// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "plait/base/id.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/task/flow/data.hpp"
#include "plait/task/flow/detail/call_kernel.hpp"
#include "plait/task/flow/detail/flow_engine.hpp"
#include "plait/task/flow/kind.hpp"
#include "plait/task/flow/options.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::task {

template <class T>
class DataGrid;

/// A sequential program whose tasks run in parallel, on all ranks: every rank submits the same tasks in the same order,
/// and from what they do with which data follows what must wait for what, and which rank must send what to which.
///
///     Data<double> a = flow.data<double>(Rank{0}, 100), b = flow.data<double>(Rank{1}, 100);
///     flow.submit([](std::span<double> a) { ... }, w(a));                               // on rank 0, which owns a
///     flow.submit([](std::span<const double> a, std::span<double> b) { ... }, r(a), rw(b));  // on rank 1: a is sent
///     flow.wait();
///
/// A task runs where the first datum that it writes is owned, unless `SubmitOptions::on` is set. A datum is sent to a
/// rank that reads it once, until it is written again or flushed. Where a task has written what its rank does not own,
/// the value stays there until it is flushed or `wait` is called. Data may be made at any time, alike on every rank.
/// Threads: the one that made it. Other flows and graphs may be under way beside it on the scheduler.
class Flow {
 public:
  /// Borrows all. Throws: `Error` for options that make no sense.
  Flow(comm::Endpoint& endpoint, Scheduler& scheduler, trace::Recorder& recorder, const FlowOptions& options = {});
  /// On a `plait::Runtime`.
  template <RuntimeLike Runtime>
  explicit Flow(Runtime& runtime, const FlowOptions& options = {})
      : Flow{runtime.messages(), runtime.scheduler(), runtime.trace(), options} {}
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;
  /// Call `wait` before: a flow that is left with tasks under way ends the run on all ranks.
  ~Flow();

  /// A datum of `count` elements, the same call on every rank. Only its owner takes memory for it, which is not set.
  template <class T>
  [[nodiscard]] Data<T> data(Rank owner, std::size_t count) {
    return Data<T>{engine_->add(owner, count * sizeof(T), nullptr, {})};
  }
  /// As above, in the owner's own memory, which must outlive the flow and has the datum's value. Other ranks' `memory`
  /// is not read.
  template <class T>
  [[nodiscard]] Data<T> data(Rank owner, std::size_t count, std::span<T> memory) {
    expect(owner != self_ || memory.size() == count, "the owner's memory is as long as the datum");
    std::byte* const place = owner == self_ ? reinterpret_cast<std::byte*>(memory.data()) : nullptr;
    return Data<T>{engine_->add(owner, count * sizeof(T), place, {})};
  }

  /// A name for tasks; the same object for the same name. Ask once and keep it.
  [[nodiscard]] FlowKind kind(std::string_view name) { return FlowKind{engine_->kind(name)}; }

  /// Adds a task: `kernel` is called with a span for each of `accesses` when its turn has come. It may return a
  /// `Coroutine`, and may take a `TaskContext&` first. It is moved or copied in.
  ///
  /// Throws: what has ended the run, if anything has, on any rank. Cost: some 10 ns on a rank that the task does not
  /// concern, below 1 us on others; may execute tasks when more than the window are under way.
  template <class Kernel, class... Accesses>
    requires(!std::same_as<std::remove_cvref_t<Kernel>, SubmitOptions> && sizeof...(Accesses) > 0)
  Submitted submit(Kernel&& kernel, const Accesses&... accesses) {
    return submit(SubmitOptions{}, std::forward<Kernel>(kernel), accesses...);
  }
  template <class Kernel, class... Accesses>
    requires(sizeof...(Accesses) > 0)
  Submitted submit(const SubmitOptions& options, Kernel&& kernel, const Accesses&... accesses) {
    using Kept = std::decay_t<Kernel>;
    const std::array<detail::AccessNote, sizeof...(Accesses)> notes{
        detail::AccessNote{accesses.datum, Accesses::mode}...};
    detail::Record* const task =
        engine_->enter(options.kind ? options.kind.name() : detail::kind_of_type<Kept>, options, notes);
    if (task == nullptr) {
      return {};
    }
    task->call = &detail::call_kernel<Kept, Accesses...>;
    return launch(*task, std::forward<Kernel>(kernel));
  }

  /// Adds a task of this rank only, without data: it does not count as a submission.
  template <class Kernel>
  Submitted spawn(Kernel&& kernel, const FlowKind& kind = {}, int priority = 0) {
    using Kept = std::decay_t<Kernel>;
    detail::Record& task = engine_->enter_local(kind ? kind.name() : detail::kind_of_type<Kept>, priority);
    task.call = &detail::call_kernel<Kept>;
    return launch(task, std::forward<Kernel>(kernel));
  }

  /// Has all copies of the datum dropped when the tasks submitted so far need them no more, and its value brought home.
  /// The same call on every rank; counts as a submission.
  template <class T>
  void flush(const Data<T>& data) {
    engine_->flush(data.datum());
  }
  void flush_all() { engine_->flush_all(); }

  /// Works until all that was submitted has ended, on every rank; then each owner has its data's values, and no rank
  /// has copies. The same call on every rank.
  ///
  /// Throws: the first `Error` on any rank: of a kernel, with the task's name; when the ranks have not submitted the
  /// same; as `Scheduler::run`. The flow can then only be ended.
  void wait() { engine_->wait(); }

  [[nodiscard]] Rank self() const noexcept { return self_; }
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return rank_count_; }
  [[nodiscard]] FlowStatistics statistics() const { return engine_->statistics(); }

 private:
  template <class T>
  friend class DataGrid;

  template <class Kernel>
  Submitted launch(detail::Record& task, Kernel&& kernel) {
    task.kernel.emplace(std::forward<Kernel>(kernel));
    const Submitted submitted{detail::RecordName{.record = &task, .serial = task.serial}};
    engine_->launch(task);
    return submitted;
  }

  comm::Endpoint& endpoint_;
  Rank self_;
  std::uint32_t rank_count_;
  std::shared_ptr<detail::FlowEngine> engine_;  ///< Shared with the endpoint when a run has failed.
};

}  // namespace plait::task
