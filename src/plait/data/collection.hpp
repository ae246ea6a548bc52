// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/data/detail/all_ranks.hpp"
#include "plait/data/detail/collection_engine.hpp"
#include "plait/data/detail/typed_element.hpp"
#include "plait/data/element.hpp"
#include "plait/data/elements.hpp"
#include "plait/data/options.hpp"
#include "plait/data/report.hpp"
#include "plait/data/shape.hpp"
#include "plait/data/turn.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::data {

/// What has a network, workers and a trace: a `plait::Runtime`.
template <class R>
concept RuntimeLike = requires(R& runtime) {
  { runtime.messages() } -> std::same_as<comm::Endpoint&>;
  { runtime.scheduler() } -> std::same_as<task::Scheduler&>;
  { runtime.trace() } -> std::same_as<trace::Recorder&>;
};

/// Has elements move by accessor `A`: what it packs, and unpacks into a new `T{}`.
template <class A>
struct MovesBy {};

/// Many elements, each on one rank at a time, that work in phases, send each other messages by id wherever they are,
/// and can be moved between phases.
///
///     Collection<Cell> cells{runtime, Shape{64, 64}, [](ElementId id, Index at) { return Cell{at}; }};
///     cells.each([](Cell& cell, Turn& turn) { turn.send<&Cell::take>(neighbour, cell.value()); });
///     cells.migrate(moves);
///
/// Every rank makes it and calls what is marked collective, in the same order. During a phase one worker at a time is
/// in an element, so that its methods need no locks. Memory: that of the elements here, and a few words for each
/// element that is not at home and belongs here or is written to from here; nothing is kept of all elements. Threads:
/// the one that made it, which is worker 0. One phase, flow or graph at a time on a scheduler. `T` can be default
/// constructed and moved, and is `Serializable` or moves by an accessor. Ids are used once: that of an element that was
/// erased may be used again after the next phase.
template <class T>
class Collection : public Elements<T> {
 public:
  using Elements<T>::find;

  /// Collective. Makes the elements of `shape`, each on the rank that the mapping says, by `make(ElementId, Index)`.
  ///
  /// Borrows the runtime. Cost: a call of the mapping for each element of the shape.
  template <RuntimeLike Runtime, class Make>
    requires std::is_invocable_r_v<T, Make&, ElementId, Index>
  Collection(Runtime& runtime, const Shape& shape, Make make, CollectionOptions options = {})
      : Collection{runtime, shape, std::move(make), std::move(options), MovesBy<void>{}} {}
  /// As above, with elements that move by accessor `A`: `MovesBy<A>{}`.
  template <RuntimeLike Runtime, class Make, class A>
    requires std::is_invocable_r_v<T, Make&, ElementId, Index>
  Collection(Runtime& runtime, const Shape& shape, Make make, CollectionOptions options, MovesBy<A> /*way*/)
      : Elements<T>{make_engine<A>(runtime, shape, std::move(options))} {
    for (std::uint64_t id = 0; id < shape.count(); ++id) {
      if (engine_->home(ElementId{id}) == engine_->self()) {
        engine_->insert(ElementId{id}, new detail::TypedElement<T>{make(ElementId{id}, shape.index(ElementId{id}))});
      }
    }
  }
  /// Collective. Without elements: `create` makes them, with ids of the shape or any others.
  template <RuntimeLike Runtime, class A = void>
  Collection(Runtime& runtime, const Shape& shape, CollectionOptions options = {}, MovesBy<A> /*way*/ = {})
      : Elements<T>{make_engine<A>(runtime, shape, std::move(options))} {}

  // ---- phases ----

  /// Collective: a phase. Each element runs `f(T&, Turn&)`, `f(T&)` or a method once, then takes the messages that it
  /// is sent. Returns when all elements of all ranks have run, and all messages sent meanwhile, and by those that took
  /// them, have been taken. What a failed phase leaves behind can only be ended.
  ///
  /// `name` in traces and errors. Throws: the first `Error` on any rank; what an element throws comes as `user_task`
  /// and names it; as `task::Scheduler::run`. Cost: 0.1 to 0.2 us for each element and each message within the rank, 1
  /// us in a trace, and four messages up and down a tree of the ranks.
  template <class F>
  PhaseReport each(F f, std::string_view name = {}) {
    return engine_->run_phase({.function = &f,
                               .call =
                                   [](void* function, void* object, Turn& turn, std::uint64_t /*step*/) {
                                     call(*static_cast<F*>(function), *static_cast<T*>(object), turn);
                                   },
                               .steps = 1},
                              name);
  }

  /// Collective: `steps` steps without a barrier between them. An element runs `f(T&, Turn&, step)` for steps 0, 1,
  /// ...; each when as many messages as `inputs(const T&, step)` says have come that were sent by `Turn::send_step` for
  /// this step. These are taken just before, in order of their senders; others at once.
  ///
  /// Throws: as `each`; `Error` with `user_task` that names the elements which wait when nothing is on its way any
  /// more, or one for which inputs come after their step.
  template <class Inputs, class F>
    requires std::is_invocable_v<F&, T&, Turn&, std::uint64_t> &&
             std::is_invocable_r_v<std::uint64_t, Inputs&, const T&, std::uint64_t>
  PhaseReport iterate(std::uint64_t steps, Inputs inputs, F f, std::string_view name = {}) {
    return engine_->run_phase({.function = &f,
                               .call =
                                   [](void* function, void* object, Turn& turn, std::uint64_t step) {
                                     (*static_cast<F*>(function))(*static_cast<T*>(object), turn, step);
                                   },
                               .steps = steps,
                               .inputs_function = &inputs,
                               .inputs = [](void* function, void* object, std::uint64_t step) -> std::uint64_t {
                                 return (*static_cast<Inputs*>(function))(*static_cast<const T*>(object), step);
                               }},
                              name);
  }

  /// Collective: a phase in which each element takes `(element.*method)(values...)`; the same call on every rank.
  template <auto method, class... Values>
  PhaseReport broadcast(const Values&... values) {
    return each([&](T& element) { (element.*method)(values...); });
  }

  /// Between phases, from any rank: as `Turn::send`, at the beginning of the next phase.
  template <auto method, class... Values>
  void send(ElementId to, Values&&... values) {
    typename detail::Method<method>::Arguments arguments{std::forward<Values>(values)...};
    engine_->send_later(to, *new detail::LocalMail<method>{ElementId{}, detail::no_step, std::move(arguments)});
  }

  // ---- elements, between phases ----

  /// Collective: takes elements of this rank to other ranks. What is sent to them from then on reaches them there.
  ///
  /// Throws: `Error` with `bad_argument`, on all ranks, for an element that is not here or is named twice, or a rank
  /// that is not there. Pointers to moved elements are void.
  MigrationReport migrate(std::span<const Move> moves) { return engine_->migrate(moves); }

  /// Adds an element on this rank. Not collective; known to the others from the next phase or migration on.
  ///
  /// Throws: `Error` with `bad_argument` when the id is in use here; in the next phase, on all ranks, when elsewhere.
  void create(ElementId id, T element) { engine_->create_between(id, new detail::TypedElement<T>{std::move(element)}); }
  /// Takes an element of this rank out of the collection. Throws: `Error` with `bad_argument` when it is not here.
  T take_out(ElementId id) {
    const std::unique_ptr<detail::TypedElement<T>> element{
        static_cast<detail::TypedElement<T>*>(engine_->take_out(id))};
    return std::move(element->object);
  }
  void erase(ElementId id) { (void)take_out(id); }
  /// Puts `element` into the place of one of this rank, which is returned. Throws: as above.
  T swap_in(ElementId id, T element) {
    if (find(id) == nullptr) {
      engine_->throw_not_here(id);
    }
    return std::exchange(*find(id), std::move(element));
  }
  /// Collective: elements in the place of all that there are, for restarts. `make()` gives those of this rank as pairs
  /// of id and element; an id is given by one rank only. Throws: on all ranks, what `make` throws on any; all elements
  /// are then as they were. Cost: a message for each element that is not at home.
  template <class Make>
    requires std::is_invocable_r_v<std::vector<std::pair<ElementId, T>>, Make&>
  void replace(Make make) {
    std::vector<std::pair<ElementId, std::unique_ptr<detail::TypedElement<T>>>> made;
    detail::agree(this->group(), [&] {
      for (auto& [id, element] : std::vector<std::pair<ElementId, T>>{make()}) {
        made.emplace_back(id, std::make_unique<detail::TypedElement<T>>(std::move(element)));
      }
    });
    std::vector<std::pair<ElementId, detail::Element*>> elements;
    for (auto& [id, element] : made) {
      elements.emplace_back(id, element.release());
    }
    engine_->replace(elements);
  }

  void reset_loads() { engine_->reset_loads(); }

 private:
  using Elements<T>::engine_;

  template <class A, class Runtime>
  [[nodiscard]] static std::unique_ptr<detail::CollectionEngine> make_engine(Runtime& runtime,
                                                                             const Shape& shape,
                                                                             CollectionOptions options) {
    return std::make_unique<detail::CollectionEngine>(
        detail::CollectionEngine::Parts{runtime.messages(), runtime.scheduler(), runtime.trace()},
        shape,
        std::move(options),
        detail::kind_of<T, A>);
  }
  template <class F>
  static void call(F& f, T& element, Turn& turn) {
    if constexpr (std::is_invocable_v<F&, T&, Turn&>) {
      std::invoke(f, element, turn);
    } else {
      std::invoke(f, element);
    }
  }
};

}  // namespace plait::data
