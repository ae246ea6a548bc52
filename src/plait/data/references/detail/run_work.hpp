// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/data/references/detail/work_engine.hpp"
#include "plait/data/references/ref.hpp"

namespace plait::data::detail {

[[nodiscard]] constexpr Mode mode_of(Permission permission) {
  return permission == Permission::modify ? Mode::modify : permission == Permission::read ? Mode::read : Mode::wait;
}

/// What a function is given for a reference, in a tuple: nothing for one that only waits.
template <class R>
struct ArgumentOf;
template <class T, Permission now>
struct ArgumentOf<Ref<T, Permission::modify, now>> {
  using Arguments = std::tuple<T&>;
};
template <class T, Permission now>
struct ArgumentOf<Ref<T, Permission::read, now>> {
  using Arguments = std::tuple<const T&>;
};
template <class T, Permission now>
struct ArgumentOf<Ref<T, Permission::none, now>> {
  using Arguments = std::tuple<>;
};
template <class... Refs>
using ArgumentsOf =
    decltype(std::tuple_cat(std::declval<typename ArgumentOf<std::remove_cvref_t<Refs>>::Arguments>()...));

template <class Function, class Arguments>
struct Application;
template <class Function, class... Arguments>
struct Application<Function, std::tuple<Arguments...>> {
  static constexpr bool is_possible = std::is_invocable_v<Function&, Arguments...>;
  static constexpr bool is_condition = std::is_invocable_r_v<bool, Function&, const std::remove_cvref_t<Arguments>&...>;
};
template <class Function, class... Refs>
using ResultOf = decltype(std::apply(std::declval<Function&>(), std::declval<ArgumentsOf<Refs...>>()));

/// Whether this can be a deferred task; where not, does not compile, with the reason.
template <class Function, class... Refs>
[[nodiscard]] consteval bool check_work() {
  constexpr bool are_refs = (is_ref<std::remove_cvref_t<Refs>> && ...);
  static_assert(
      are_refs,
      "a deferred task takes references, Ref<T>: make one of a value with work.ref<T>(...), or let the function "
      "capture what is no reference");
  if constexpr (are_refs) {
    constexpr bool are_given_away = (!std::is_lvalue_reference_v<Refs> && ...);
    static_assert(are_given_away,
                  "a reference is given away to a deferred task: std::move(ref), or ref.read() for one more");
    constexpr bool is_possible = Application<Function, ArgumentsOf<Refs...>>::is_possible;
    static_assert(
        is_possible,
        "the function of a deferred task takes T& for a Ref<T>, const T& for one that may only read, and nothing for "
        "one without permission, in their order");
    return are_given_away && is_possible;
  } else {
    return false;
  }
}

template <class Condition, class Function, class... Refs>
[[nodiscard]] consteval bool check_condition() {
  using Kept = std::decay_t<Condition>;
  if constexpr (!(is_ref<std::remove_cvref_t<Refs>> && ...)) {
    return true;  // check_work() has the reason
  } else if constexpr (is_ref<Kept>) {
    constexpr bool is_bool = std::is_same_v<typename Kept::Value, bool> && Kept::may_schedule == Permission::read;
    static_assert(is_bool, "the condition of a deferred task is a reference that reads a bool: flag.read()");
    return is_bool && check_work<Function, Refs...>();
  } else {
    constexpr bool is_condition = Application<Kept, ArgumentsOf<Refs...>>::is_condition;
    static_assert(is_condition,
                  "the condition of a deferred task takes const T& for each of its values and returns a bool");
    return is_condition && check_work<Function, Refs...>();
  }
}

template <class Function, class... Values>
auto call_if(bool yes, Function& function, Values&... values) {
  using Result = std::invoke_result_t<Function&, Values&...>;
  if constexpr (std::is_void_v<Result>) {
    if (yes) {
      std::invoke(function, values...);
    }
  } else {
    return yes ? std::optional<Result>{std::invoke(function, values...)} : std::nullopt;
  }
}

/// Calls the function if the first value, which it does not see, is true.
template <class Function>
struct IfTrue {
  Function function;
  template <class... Values>
  auto operator()(const bool& yes, Values&... values) {
    return call_if(yes, function, values...);
  }
};
/// Calls the function if its values meet the condition.
template <class Condition, class Function>
struct IfHolds {
  Condition condition;
  Function function;
  template <class... Values>
  auto operator()(Values&... values) {
    return call_if(std::invoke(condition, std::as_const(values)...), function, values...);
  }
};

template <class R>
[[nodiscard]] auto argument_of(const Use& use) {
  using Kept = std::remove_cvref_t<R>;
  using Arguments = typename ArgumentOf<Kept>::Arguments;
  if constexpr (std::tuple_size_v<Arguments> == 0) {
    return Arguments{};
  } else {
    return Arguments{*static_cast<CellOf<typename Kept::Value>&>(use.stage->cell).value};
  }
}

/// Calls the kernel with its values, and keeps what it returns.
template <class Function, class... Refs>
void call_function(Job& job) {
  auto& function = job.kernel.template get<Function>();
  const auto arguments = [&]<std::size_t... index>(std::index_sequence<index...> /*indices*/) {
    [[maybe_unused]] const auto uses = job.uses();
    return std::tuple_cat(argument_of<Refs>(uses[index])...);
  }(std::index_sequence_for<Refs...>{});
  using Result = ResultOf<Function, Refs...>;
  if constexpr (std::is_void_v<Result>) {
    std::apply(function, arguments);
  } else {
    static_cast<CellOf<std::remove_cvref_t<Result>>&>(job.result->cell).value.emplace(std::apply(function, arguments));
  }
}

/// Hands a reference over to the job. Returns, in a tuple, the one in its place.
template <class T, Permission scheduled, Permission now>
[[nodiscard]] auto hand_over(Ref<T, scheduled, now>& ref, Job& job, Use& use) {
  use.stage = RefAccess::give_up(ref);
  use.mode = mode_of(scheduled);
  use.job = &job;
  if constexpr (scheduled == Permission::modify) {
    use.next_stage = new Stage{use.stage->cell};
    hold(*use.next_stage);
    attach(use);
    return std::tuple<Ref<T>>{RefAccess::make<Ref<T>>(*use.next_stage)};
  } else {
    attach(use);
    return std::tuple<>{};
  }
}

/// A place for what the job returns, and the reference to it, in a tuple.
template <class Result>
[[nodiscard]] auto reference_to_result(Job& job) {
  if constexpr (std::is_void_v<Result>) {
    return std::tuple<>{};
  } else {
    using Kept = std::remove_cvref_t<Result>;
    static_assert(!is_ref<Kept>, "a deferred task returns a value, which gets a reference of its own; not a reference");
    job.result = new Stage{*new CellOf<Kept>};
    hold(*job.result);
    return std::tuple<Ref<Kept>>{RefAccess::make<Ref<Kept>>(*job.result)};
  }
}

/// Throws where a reference names nothing, or two of them want the same value, which would wait for each other.
template <class... Refs>
void check_values(WorkEngine& engine, const Refs&... refs) {
  if (((RefAccess::stage(refs) == nullptr) || ...)) {
    engine.fail(Error{ErrorCode::bad_argument, "a deferred task was given a reference that was moved from before"});
  }
  if constexpr (sizeof...(Refs) > 1 && ((Refs::may_schedule == Permission::modify) || ...)) {
    const Stage* const stages[] = {RefAccess::stage(refs)...};
    constexpr Permission permissions[] = {Refs::may_schedule...};
    for (std::size_t i = 0; i < sizeof...(Refs); ++i) {
      for (std::size_t j = 0; j < sizeof...(Refs); ++j) {
        if (i != j && permissions[i] == Permission::modify && permissions[j] == Permission::read &&
            stages[i] == stages[j]) {
          engine.fail(Error{
              ErrorCode::bad_argument,
              "a deferred task was given a value twice, to modify and to read it: the one that modifies is enough"});
        }
      }
    }
  }
}

template <class... Parts>
[[nodiscard]] auto one_or_all(std::tuple<Parts...>&& parts) {
  if constexpr (sizeof...(Parts) == 1) {
    return std::get<0>(std::move(parts));
  } else if constexpr (sizeof...(Parts) > 1) {
    return std::move(parts);
  }
}

/// Expects: `check_work`.
template <class Function, class... Refs>
auto run_work(WorkEngine& engine, const task::detail::KindName& kind, Function&& function, Refs&... refs) {
  using Kept = std::decay_t<Function>;
  check_values(engine, refs...);
  Job& job = engine.take(kind, sizeof...(Refs));
  job.call = &call_function<Kept, Refs...>;
  job.kernel.emplace(std::forward<Function>(function));
  auto made = [&]<std::size_t... index>(std::index_sequence<index...> /*indices*/) {
    [[maybe_unused]] const auto uses = job.uses();
    return std::tuple_cat(reference_to_result<ResultOf<Kept, Refs...>>(job), hand_over(refs, job, uses[index])...);
  }(std::index_sequence_for<Refs...>{});
  engine.launch(job);
  return one_or_all(std::move(made));
}

/// A job that a message starts, into the kernel's `bytes`.
template <class T, class Kernel>
[[nodiscard]] Ref<T> run_receive(WorkEngine& engine,
                                 const task::detail::KindName& kind,
                                 const comm::Address& from,
                                 Kernel&& kernel) {
  Job& job = engine.take(kind, 0);
  job.call = &call_function<std::decay_t<Kernel>>;
  Bytes& bytes = job.kernel.emplace(std::forward<Kernel>(kernel)).bytes;
  auto made = reference_to_result<T>(job);
  engine.launch_receive(job, from, bytes);
  return std::get<0>(std::move(made));
}

}  // namespace plait::data::detail
