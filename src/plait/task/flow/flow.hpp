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
#include "plait/task/flow/options.hpp"
#include "plait/task/run/kinds.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::task {

template <class T>
class DataGrid;

/// A sequential program whose tasks run in parallel on all ranks. Every rank submits the same tasks in the same order,
/// or, with `Submission::own_tasks`, those that it executes. Dependencies and messages follow from the data that tasks
/// access.
///
///     Data<double> a = flow.data<double>(Rank{0}, 100), b = flow.data<double>(Rank{1}, 100);
///     flow.submit([](std::span<double> a) { ... }, w(a));                               // on rank 0, which owns a
///     flow.submit([](std::span<const double> a, std::span<double> b) { ... }, r(a), rw(b));  // on rank 1: a is sent
///     flow.wait();
///
/// A task runs on the owner of the first datum that it writes, unless `SubmitOptions::on` is set. A datum is sent once
/// to each rank that reads it, until it is written or flushed. A value that a task wrote on another rank than the
/// owner's stays there until `flush` or `wait`. Data may be created at any time, the same on every rank. Threads: the
/// one that created the flow. Other flows and graphs may be under way on the scheduler.
class Flow {
 public:
  /// Borrows its arguments. Throws: `Error` for a window of 0.
  Flow(comm::Endpoint& endpoint, Scheduler& scheduler, trace::Recorder& recorder, const FlowOptions& options = {});
  /// Uses a `plait::Runtime`.
  template <RuntimeLike Runtime>
  explicit Flow(Runtime& runtime, const FlowOptions& options = {})
      : Flow{runtime.messages(), runtime.scheduler(), runtime.trace(), options} {}
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;
  /// Ends the run on all ranks if tasks are under way: call `wait` before.
  ~Flow();

  /// Creates a datum of `count` elements; the same call on every rank. Its owner allocates uninitialised memory for it.
  template <class T>
  [[nodiscard]] Data<T> data(Rank owner, std::size_t count) {
    return Data<T>{engine_->add(owner, count * sizeof(T), nullptr)};
  }
  /// As above, in memory of the owner that has the datum's value and outlives the flow. Other ranks' `memory` is
  /// ignored.
  template <class T>
  [[nodiscard]] Data<T> data(Rank owner, std::size_t count, std::span<T> memory) {
    expect(owner != self() || memory.size() == count, "the owner's memory is as long as the datum");
    std::byte* const place = owner == self() ? reinterpret_cast<std::byte*>(memory.data()) : nullptr;
    return Data<T>{engine_->add(owner, count * sizeof(T), place)};
  }

  /// Returns a name for tasks. Keep it, as the look-up takes time.
  [[nodiscard]] FlowKind kind(std::string_view name) { return FlowKind{engine_->kind(name)}; }

  /// Adds a task that calls `kernel` with a span for each of `accesses`. The kernel is moved or copied. It may take a
  /// `TaskContext&` first, and may return a `Coroutine`.
  ///
  /// Throws: the error that has ended the run on any rank. Cost: some 10 ns on a rank that the task does not concern,
  /// below 1 us on others; may execute tasks when the window is full.
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
        detail::AccessNote{accesses.datum, Accesses::mode, accesses.version}...};
    detail::Record* const task =
        engine_->enter(options.kind ? options.kind.name() : detail::kind_of_type<Kept>, options, notes);
    if (task == nullptr) {
      return {};
    }
    task->call = &detail::call_kernel<Kept, Accesses...>;
    return launch(*task, std::forward<Kernel>(kernel));
  }

  /// Adds a task whose accesses are known at run time only, for interpreters and other languages. The kernel takes a
  /// `std::span<const std::span<std::byte>>`, in the order of `accesses`, and must not write what it only reads.
  /// Expects: `options.kind` is set, and no mode is `later`. Errors and cost: as `submit`.
  template <class Kernel>
    requires std::is_invocable_v<std::decay_t<Kernel>&, TaskContext&, std::span<const std::span<std::byte>>>
  Submitted submit_bytes(const SubmitOptions& options, Kernel&& kernel, std::span<const AnyAccess> accesses) {
    detail::Record* const task = engine_->enter(options.kind.name(), options, accesses);
    if (task == nullptr) {
      return {};
    }
    task->call = &detail::call_kernel_with_bytes<std::decay_t<Kernel>>;
    return launch(*task, std::forward<Kernel>(kernel));
  }

  /// Adds a task without data on this rank only. It is no submission: other ranks need not call this.
  template <class Kernel>
  Submitted spawn(Kernel&& kernel, const FlowKind& kind = {}, int priority = 0) {
    using Kept = std::decay_t<Kernel>;
    detail::Record& task = engine_->enter_local(kind ? kind.name() : detail::kind_of_type<Kept>, priority);
    task.call = &detail::call_kernel<Kept>;
    return launch(task, std::forward<Kernel>(kernel));
  }

  /// Sends the value that `access`, which is `r(data)` or `r(data, version)`, would read now to ranks that will read
  /// it, by one multicast with the priority of a task. A rank that has been sent the version is left out.
  ///
  /// With `Submission::own_tasks`, only the owner's call counts. Otherwise the same call on every rank; not needed, as
  /// tasks that read the datum have it sent. Throws: as `submit`. Cost: about 1 us, and some 10 ns a rank.
  template <class T>
  void send(const DataAccess<const T, detail::Mode::read>& access, std::span<const Rank> to, int priority = 0) {
    engine_->send({access.datum, detail::Mode::read, access.version}, to, priority);
  }

  /// Returns the value of the datum to its owner, and drops all copies, after the tasks submitted so far. A submission:
  /// the same call on every rank. With `Submission::own_tasks`, drops the copy of this rank only, whatever others do.
  template <class T>
  void flush(const Data<T>& data) {
    engine_->flush(data.datum());
  }

  /// Executes tasks until all submissions have ended on every rank. Then each owner has the values of its data, and no
  /// rank has copies. The same call on every rank.
  ///
  /// Throws: the first `Error` on any rank, of a kernel with the task's name; when ranks have submitted different
  /// programs; as `Scheduler::run`. The flow can then only be destroyed.
  void wait() { engine_->wait(); }

  [[nodiscard]] Rank self() const noexcept { return endpoint_.self(); }
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return endpoint_.rank_count(); }
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
  std::shared_ptr<detail::FlowEngine> engine_;  ///< Shared with the endpoint when a run has failed.
};

}  // namespace plait::task
