// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "plait/data/references/detail/run_work.hpp"
#include "plait/data/references/detail/work_engine.hpp"
#include "plait/data/references/ref.hpp"
#include "plait/task/run/kinds.hpp"

namespace plait::data {

/// How deferred tasks are executed.
struct WorkOptions {
  /// When so many tasks have not ended, the thread that creates more executes some first.
  std::uint32_t window = 4096;
};

/// The name of deferred tasks in errors and traces. From `Work::kind`; valid while the `Work` lives.
struct WorkKind {
  const task::detail::KindName* name;
};

/// Deferred tasks: functions that run when the values of their references are computed.
///
///     data::Work work{runtime};
///     Ref<Field> field = work.ref<Field>(100);                        // a value, made here
///     field = work([](Field& field) { field.step(); }, std::move(field));
///     Ref<double> sum = work([](const Field& field) { return field.sum(); }, field.read());
///     field = work.when([](const Field& field) { return field.is_hot(); },
///                       [](Field& field) { ... }, std::move(field));
///     std::cout << *work.fetch(std::move(sum));
///     work.wait();
///
/// A function is called with `T&` for a `Ref<T>`, `const T&` for one that reads, and nothing for one without
/// permission. Its result is a value with a reference of its own. It may create deferred tasks, but not wait. An
/// exception ends the run on all ranks. Threads: the one that created the `Work`, and bodies.
class Work {
 public:
  /// Borrows its arguments. Throws: `Error` for a window of 0.
  Work(comm::Endpoint& endpoint, task::Scheduler& scheduler, trace::Recorder& recorder, const WorkOptions& options = {})
      : endpoint_{endpoint}, engine_{std::make_shared<detail::WorkEngine>(endpoint, scheduler, recorder, options)} {}
  /// Uses a `plait::Runtime`.
  template <task::RuntimeLike Runtime>
  explicit Work(Runtime& runtime, const WorkOptions& options = {})
      : Work{runtime.messages(), runtime.scheduler(), runtime.trace(), options} {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  /// Ends the run on all ranks if tasks are under way: call `wait` before.
  ~Work() {
    const bool has_ended = engine_->is_quiet();
    engine_->abandon();
    if (!has_ended) {
      endpoint_.keep(std::move(engine_));  // the endpoint may still know its buffers
    }
  }

  /// Creates a value from `arguments`.
  template <class T, class... Arguments>
  [[nodiscard]] Ref<T> ref(Arguments&&... arguments) {
    auto cell = std::make_unique<detail::CellOf<T>>();
    cell->value.emplace(std::forward<Arguments>(arguments)...);
    auto* const stage = new detail::Stage{*cell.release()};
    stage->is_made = true;
    return detail::RefAccess::make<Ref<T>>(*stage);
  }

  /// Returns a name for deferred tasks. Keep it, as the look-up takes time.
  [[nodiscard]] WorkKind kind(std::string_view name) { return {&engine_->kind(name)}; }

  /// Adds a deferred task that calls `function` with the values of `refs` when they are computed. Returns a reference
  /// to its result, if any, and a new reference for each that modifies, in their order: one alone, or a tuple.
  ///
  /// Throws: the error that has ended the run. Cost: below 1 us beside the function; may execute tasks when the window
  /// is full.
  template <class Function, class... Refs>
    requires(!std::same_as<std::decay_t<Function>, WorkKind>)
  auto operator()(Function&& function, Refs&&... refs) {
    using Kept = std::decay_t<Function>;
    return (*this)(
        WorkKind{&task::detail::kind_of_type<Kept>}, std::forward<Function>(function), std::forward<Refs>(refs)...);
  }
  template <class Function, class... Refs>
  auto operator()(WorkKind kind, Function&& function, Refs&&... refs) {
    if constexpr (detail::check_work<std::decay_t<Function>, Refs...>()) {
      return detail::run_work(*engine_, *kind.name, std::forward<Function>(function), refs...);
    }
  }

  /// As above, but calls `function` only if `condition` holds: a reference to a bool, or a function of the same values,
  /// which must not change them. The result of `function` is an optional, empty if it was not called.
  template <class Condition, class Function, class... Refs>
  auto when(Condition&& condition, Function&& function, Refs&&... refs) {
    using Kept = std::decay_t<Function>;
    const WorkKind kind{&task::detail::kind_of_type<Kept>};
    if constexpr (detail::check_condition<Condition, Kept, Refs...>()) {
      if constexpr (detail::is_ref<std::decay_t<Condition>>) {
        return (*this)(kind,
                       detail::IfTrue<Kept>{std::forward<Function>(function)},
                       std::forward<Condition>(condition),
                       std::forward<Refs>(refs)...);
      } else {
        return (*this)(kind,
                       detail::IfHolds<std::decay_t<Condition>, Kept>{std::forward<Condition>(condition),
                                                                      std::forward<Function>(function)},
                       std::forward<Refs>(refs)...);
      }
    }
  }

  /// Executes tasks until the value may be used as the reference permits, and returns the reference with the permission
  /// to use the value now.
  ///
  /// Throws: the first `Error` on any rank; `bad_argument` in a body, and when the wait would not end because the
  /// program still holds references that read the value.
  template <class T, Permission scheduled, Permission now>
  [[nodiscard]] Ref<T, scheduled, scheduled> fetch(Ref<T, scheduled, now>&& ref) {
    static_assert(scheduled != Permission::none, "a Ref without permission has no value to fetch: wait_for(ref)");
    constexpr detail::Mode mode = scheduled == Permission::modify ? detail::Mode::modify : detail::Mode::read;
    engine_->help_until_free(*detail::RefAccess::stage(ref), mode);
    return detail::RefAccess::make<Ref<T, scheduled, scheduled>>(*detail::RefAccess::give_up(ref));
  }
  /// Fetches the value and moves it out of the reference.
  template <class T, Permission now>
  [[nodiscard]] T take(Ref<T, Permission::modify, now>&& ref) {
    auto fetched = fetch(std::move(ref));
    return std::move(*fetched);
  }
  /// Executes tasks until the value is computed. Throws: as `fetch`.
  template <class T, Permission scheduled, Permission now>
  void wait_for(const Ref<T, scheduled, now>& ref) {
    engine_->help_until_free(*detail::RefAccess::stage(ref), detail::Mode::wait);
  }

  /// Executes tasks until all deferred tasks of this rank have ended, and their messages are sent. References and their
  /// values stay valid. Throws: as `fetch`.
  void wait() { engine_->wait(); }

  [[nodiscard]] Rank self() const noexcept { return endpoint_.self(); }
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return endpoint_.rank_count(); }
  /// For `remote.hpp`.
  [[nodiscard]] detail::WorkEngine& engine() noexcept { return *engine_; }

 private:
  comm::Endpoint& endpoint_;
  std::shared_ptr<detail::WorkEngine> engine_;  ///< Shared with the endpoint when a run has failed.
};

}  // namespace plait::data
