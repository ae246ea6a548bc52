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

#include "plait/comm/collectives/agree.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/data/collections/element.hpp"
#include "plait/data/collections/element_context.hpp"
#include "plait/data/collections/elements.hpp"
#include "plait/data/collections/engine/collection_engine.hpp"
#include "plait/data/collections/engine/typed_element.hpp"
#include "plait/data/collections/mapping.hpp"
#include "plait/data/collections/phase.hpp"
#include "plait/data/collections/report.hpp"
#include "plait/data/collections/shape.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::data {

using task::RuntimeLike;

/// Has elements move by accessor `A`: what it packs, and unpacks into a new `T{}`.
template <class A>
struct MovesBy {};

/// Many elements, each on one rank at a time, that run in phases, send each other messages by id on any rank, and can
/// be moved between phases.
///
///     Collection<Cell> cells{runtime, Shape{64, 64}, [](ElementId id, Index at) { return Cell{at}; }};
///     auto phase = cells.start([](Cell& cell, ElementContext& context) {
///       context.send<&Cell::take>(neighbour, cell.value());
///     });
///     ...                                   // MPI, another collection, a graph
///     PhaseReport report = phase.wait();
///     cells.migrate(moves);
///
/// Every rank creates it and calls what is marked collective, in the same order. During a phase one worker at a time is
/// in an element, so that its methods need no locks. Memory: that of the elements here, and a few words for each
/// element that is not at home and belongs here or is sent to from here; nothing is kept of all elements. Threads: one
/// at a time. While a phase is open, its elements must not be used, nor changed: calls that would throw `Error` with
/// `bad_argument`. `T` can be default constructed and moved, and is `Serializable` or moves by an accessor. Ids are
/// used once: that of an element that was erased may be used again after the next phase.
template <class T>
class Collection : public Elements<T> {
 public:
  using Elements<T>::find;

  /// Collective. Makes the elements of `shape`, each on the rank that the mapping returns, by `make(ElementId, Index)`.
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
      if (engine_->home(ElementId{id}) == engine_->info().self) {
        engine_->add(ElementId{id}, *new detail::TypedElement<T>{make(ElementId{id}, shape.index(ElementId{id}))});
      }
    }
  }
  /// Collective. Without elements: `create` makes them, with ids of the shape or any others.
  template <RuntimeLike Runtime, class A = void>
  Collection(Runtime& runtime, const Shape& shape, CollectionOptions options = {}, MovesBy<A> /*way*/ = {})
      : Elements<T>{make_engine<A>(runtime, shape, std::move(options))} {}

  // ---- phases ----

  /// Collective: starts a phase and returns at once. Each element runs `f(T&, ElementContext&)`, `f(T&)` or a method
  /// once, then takes the messages that it is sent. The phase is over when all elements of all ranks have run, and all
  /// messages sent meanwhile, and by those that took them, have been taken.
  ///
  /// `f` is copied; what it refers to must live until the phase is over. Other collections, graphs, flows, deferred
  /// tasks and MPI code may run meanwhile; with one worker, elements run only while a thread waits on the scheduler. A
  /// failed phase leaves a collection that can only be destroyed. Throws: `Error` with `bad_argument` while another
  /// phase of this collection is open. Cost: 0.1 to 0.2 us for each element and each message within the rank, 1 us in a
  /// trace, and four messages up and down a tree of the ranks.
  template <class F>
  [[nodiscard]] Phase start(F f, const PhaseOptions& options = {}) {
    auto keeps = std::make_shared<F>(std::move(f));
    detail::PhaseWork work = work_of(*keeps);
    work.keeps = std::move(keeps);
    return begin(std::move(work), options);
  }
  /// Collective: `start`, and waits. Throws: as `Phase::wait`.
  template <class F>
  PhaseReport each(F f, std::string_view name = {}) {
    return each(std::move(f), PhaseOptions{.name = name});
  }
  template <class F>
  PhaseReport each(F f, const PhaseOptions& options) {
    return begin(work_of(f), options).wait();
  }

  /// Collective: starts a phase of `steps` steps without a barrier between them. An element runs `f(T&,
  /// ElementContext&, step)` for steps 0, 1, ...; each when as many messages as `inputs(const T&, step)` returns have
  /// come that were sent by `ElementContext::send_step` for this step. These are taken just before, in order of their
  /// senders; others at once.
  ///
  /// Throws: as `start`. `Phase::wait` throws `Error` with `user_task` that names the elements which wait although no
  /// message is in flight, or one for which inputs come after their step.
  template <class Inputs, class F>
    requires std::is_invocable_v<F&, T&, ElementContext&, std::uint64_t> &&
             std::is_invocable_r_v<std::uint64_t, Inputs&, const T&, std::uint64_t>
  [[nodiscard]] Phase start_steps(std::uint64_t steps, Inputs inputs, F f, const PhaseOptions& options = {}) {
    auto keeps = std::make_shared<std::pair<Inputs, F>>(std::move(inputs), std::move(f));
    detail::PhaseWork work = work_of(steps, keeps->first, keeps->second);
    work.keeps = std::move(keeps);
    return begin(std::move(work), options);
  }
  /// Collective: `start_steps`, and waits.
  template <class Inputs, class F>
    requires std::is_invocable_v<F&, T&, ElementContext&, std::uint64_t> &&
             std::is_invocable_r_v<std::uint64_t, Inputs&, const T&, std::uint64_t>
  PhaseReport iterate(std::uint64_t steps, Inputs inputs, F f, std::string_view name = {}) {
    return begin(work_of(steps, inputs, f), {.name = name}).wait();
  }

  /// Collective: a phase in which each element takes `(element.*method)(values...)`; the same call on every rank.
  template <auto method, class... Values>
  PhaseReport broadcast(const Values&... values) {
    return each([&](T& element) { (element.*method)(values...); });
  }

  /// Between phases, from any rank: as `ElementContext::send`, at the start of the next phase.
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
  void create(ElementId id, T element) { engine_->create(id, *new detail::TypedElement<T>{std::move(element)}); }
  /// Takes an element of this rank out of the collection. Throws: `Error` with `bad_argument` when it is not here.
  T take_out(ElementId id) {
    const std::unique_ptr<detail::TypedElement<T>> element{
        static_cast<detail::TypedElement<T>*>(engine_->take_out(id))};
    return std::move(element->object);
  }
  void erase(ElementId id) { (void)take_out(id); }
  /// Puts `element` into the place of one of this rank, which is returned. Throws: as above.
  T swap_in(ElementId id, T element) {
    T* const place = find(id);
    if (place == nullptr) {
      throw Error{ErrorCode::bad_argument, "swap_in of an element that is not on this rank: use find first"};
    }
    return std::exchange(*place, std::move(element));
  }
  /// Collective: elements in the place of all that there are, for restarts. `make()` gives those of this rank as pairs
  /// of id and element; an id is given by one rank only. Throws: on all ranks, what `make` throws on any; all elements
  /// are then as they were. Cost: a message for each element that is not at home.
  template <class Make>
    requires std::is_invocable_r_v<std::vector<std::pair<ElementId, T>>, Make&>
  void replace(Make make) {
    std::vector<std::pair<ElementId, std::unique_ptr<detail::TypedElement<T>>>> made;
    (void)engine_->local();  // throws while a phase is open
    comm::agree(this->group(), [&] {
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
  [[nodiscard]] static std::shared_ptr<detail::CollectionEngine> make_engine(Runtime& runtime,
                                                                             const Shape& shape,
                                                                             CollectionOptions options) {
    return std::make_shared<detail::CollectionEngine>(
        detail::CollectionEngine::Borrowed{runtime.messages(), runtime.scheduler(), runtime.trace()},
        shape,
        std::move(options),
        detail::kind_of<T, A>);
  }
  [[nodiscard]] Phase begin(detail::PhaseWork work, const PhaseOptions& options) {
    engine_->start(std::move(work), options.name, options.gate);
    return Phase{engine_};
  }
  template <class F>
  [[nodiscard]] static detail::PhaseWork work_of(F& f) {
    return {.function = &f,
            .call =
                [](void* function, void* object, ElementContext& context, std::uint64_t /*step*/) {
                  if constexpr (std::is_invocable_v<F&, T&, ElementContext&>) {
                    std::invoke(*static_cast<F*>(function), *static_cast<T*>(object), context);
                  } else {
                    std::invoke(*static_cast<F*>(function), *static_cast<T*>(object));
                  }
                },
            .steps = 1};
  }
  template <class Inputs, class F>
  [[nodiscard]] static detail::PhaseWork work_of(std::uint64_t steps, Inputs& inputs, F& f) {
    return {.function = &f,
            .call =
                [](void* function, void* object, ElementContext& context, std::uint64_t step) {
                  (*static_cast<F*>(function))(*static_cast<T*>(object), context, step);
                },
            .steps = steps,
            .inputs_function = &inputs,
            .inputs = [](void* function, void* object, std::uint64_t step) -> std::uint64_t {
              return (*static_cast<Inputs*>(function))(*static_cast<const T*>(object), step);
            }};
  }
};

}  // namespace plait::data
