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
#include "plait/task/flow/kind.hpp"

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

/// Work on values that references name: functions that run as tasks when their values are there.
///
///     data::Work work{runtime};
///     Ref<Field> field = work.ref<Field>(100);                        // a value, made here
///     field = work([](Field& field) { field.step(); }, std::move(field));
///     Ref<double> sum = work([](const Field& field) { return field.sum(); }, field.read());
///     field = work.when([](const Field& field) { return field.is_hot(); }, [](Field& field) { ... },
///     std::move(field)); std::cout << *work.fetch(std::move(sum)); work.wait();
///
/// A function is called with `T&` for a `Ref<T>`, `const T&` for one that reads, and nothing for one that only waits.
/// What it returns is a value with a reference of its own. It may make more work, through the `Work` (but not wait),
/// and whatever it throws ends the run on all ranks. Threads: the one that made it, which is worker 0, and bodies.
/// One work, flow, graph or other run at a time on a scheduler, from the first call to the end of `wait`.
class Work {
 public:
  /// Borrows all. Throws: `Error` for options that make no sense.
  Work(comm::Endpoint& endpoint, task::Scheduler& scheduler, trace::Recorder& recorder, const WorkOptions& options = {})
      : endpoint_{endpoint}, engine_{std::make_shared<detail::WorkEngine>(endpoint, scheduler, recorder, options)} {}
  /// On a `plait::Runtime`.
  template <task::RuntimeLike Runtime>
  explicit Work(Runtime& runtime, const WorkOptions& options = {})
      : Work{runtime.messages(), runtime.scheduler(), runtime.trace(), options} {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  /// Call `wait` before: what is left with works under way ends the run on all ranks.
  ~Work() {
    const bool has_ended = engine_->is_quiet();
    engine_->abandon();
    if (!has_ended) {
      endpoint_.keep(std::move(engine_));  // the endpoint may still know its buffers
    }
  }

  /// A value that is there already, made of `arguments`.
  template <class T, class... Arguments>
  [[nodiscard]] Ref<T> ref(Arguments&&... arguments) {
    auto cell = std::make_unique<detail::CellOf<T>>();
    cell->value.emplace(std::forward<Arguments>(arguments)...);
    auto* const stage = new detail::Stage{*cell.release()};
    stage->is_made = true;
    return detail::RefAccess::make<Ref<T>>(*stage);
  }

  /// A name for works; the same for the same name.
  [[nodiscard]] WorkKind kind(std::string_view name) { return {&engine_->kind(name)}; }

  /// Has `function` called with the values of `refs` when they are there. Returns a reference to what it returns, if it
  /// returns anything, and one in the place of each that modifies, in their order: one alone, or a tuple.
  ///
  /// Throws: what has ended the run, if anything has. Cost: below 1 us beyond the function; may execute works when more
  /// than the window are under way.
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

  /// As above, but `function` is called only if `condition` holds: a reference to a bool, which is known later, or a
  /// function of the same values, which must not change them. The references go on either way. What `function` returns
  /// comes as an optional: of nothing where it was not called.
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

  /// Works until the value is there and as free as the reference wants it, and returns the reference with the right to
  /// use the value now.
  ///
  /// Throws: the first `Error` on any rank; `bad_argument` when it would wait for ever, as the program has references
  /// that read the value and that it would have to let go first; `bad_argument` in a body.
  template <class T, Permission scheduled, Permission now>
  [[nodiscard]] Ref<T, scheduled, scheduled> fetch(Ref<T, scheduled, now>&& ref) {
    static_assert(scheduled != Permission::none, "a Ref without permission has no value to fetch: wait_for(ref)");
    constexpr detail::Mode mode = scheduled == Permission::modify ? detail::Mode::modify : detail::Mode::read;
    engine_->help_until_free(*detail::RefAccess::stage(ref), mode);
    return detail::RefAccess::make<Ref<T, scheduled, scheduled>>(*detail::RefAccess::give_up(ref));
  }
  /// As `fetch`, and takes the value out: the reference ends.
  template <class T, Permission now>
  [[nodiscard]] T take(Ref<T, Permission::modify, now>&& ref) {
    auto fetched = fetch(std::move(ref));
    return std::move(*fetched);
  }
  /// Works until the value is there. Throws: as `fetch`.
  template <class T, Permission scheduled, Permission now>
  void wait_for(const Ref<T, scheduled, now>& ref) {
    engine_->help_until_free(*detail::RefAccess::stage(ref), detail::Mode::wait);
  }

  /// Works until all works of this rank have ended, with the messages that they sent, and lets the workers go: other
  /// runs may follow. References and their values stay. Throws: as `fetch`.
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
