// SPDX-License-Identifier: Apache-2.0
#pragma once

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
#include "plait/data/collections/options.hpp"
#include "plait/data/collections/phase.hpp"
#include "plait/data/collections/report.hpp"
#include "plait/data/collections/shape.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::data {

using task::RuntimeLike;

/// Selects accessor `A` to pack elements that move, and to unpack them into a new `T{}`: `MovesBy<A>{}`.
template <class A>
struct MovesBy {};

/// A distributed set of elements, which run in phases, send each other messages by id, and can migrate between phases.
///
///     Collection<Cell> cells{runtime, Shape{64, 64}, [](ElementId id, Index at) { return Cell{at}; }};
///     auto phase = cells.start([](Cell& cell, ElementContext& context) {
///       context.send<&Cell::take>(neighbour, cell.value());
///     });
///     ...                                   // MPI, another collection, a graph
///     PhaseReport report = phase.wait();
///     cells.migrate(moves);
///
/// Every rank creates it and calls collective functions in the same order. One worker at a time executes an element, so
/// that its methods need no locks. `T` is default constructible and movable, and is `Serializable` or moves by an
/// accessor. The id of an erased element may be used again after the next phase. While a phase is open, calls that use
/// or change elements throw `Error` with `bad_argument`. Memory: the elements here, and a few words for each element
/// away from its home that has its home here or is sent to from here. Threads: one at a time.
template <class T>
class Collection : public Elements<T> {
 public:
  using Elements<T>::find;

  /// Creates the elements of `shape` by `make(ElementId, Index)`, each on the rank that the mapping returns.
  /// Collective.
  ///
  /// Borrows the runtime. Cost: a call of the mapping for each element of the shape.
  template <RuntimeLike Runtime, class Make, class A = void>
    requires std::is_invocable_r_v<T, Make&, ElementId, Index>
  Collection(Runtime& runtime, const Shape& shape, Make make, CollectionOptions options = {}, MovesBy<A> /*way*/ = {})
      : Elements<T>{make_engine<A>(runtime, shape, std::move(options))} {
    for (std::uint64_t id = 0; id < shape.count(); ++id) {
      if (engine_->home(ElementId{id}) == engine_->info().self) {
        engine_->add(ElementId{id}, *new detail::TypedElement<T>{make(ElementId{id}, shape.index(ElementId{id}))});
      }
    }
  }
  /// Creates a collection without elements, for `create` with any ids. Collective.
  template <RuntimeLike Runtime, class A = void>
  Collection(Runtime& runtime, const Shape& shape, CollectionOptions options = {}, MovesBy<A> /*way*/ = {})
      : Elements<T>{make_engine<A>(runtime, shape, std::move(options))} {}

  // ---- phases ----

  /// Starts a phase and returns at once. Collective. Each element runs `f(T&, ElementContext&)`, `f(T&)` or a method
  /// once, and takes its messages. The phase is over when all elements of all ranks have run and no message is in
  /// flight.
  ///
  /// `f` is copied; its references must be valid until the phase is over. Other collections, graphs, flows, deferred
  /// tasks and MPI code may run meanwhile. With one worker, elements run only while a thread waits on the scheduler. A
  /// failed collection can only be destroyed. Throws: `Error` with `bad_argument` while another phase of this
  /// collection is open. Cost: 0.1 to 0.2 us for each element and each message within the rank, 1 us in a trace, and
  /// four messages up and down a tree of the ranks.
  template <class F>
  [[nodiscard]] Phase start(F f, const PhaseOptions& options = {}) {
    auto keeps = std::make_shared<F>(std::move(f));
    detail::PhaseWork work = work_of(*keeps);
    work.keeps = std::move(keeps);
    return begin(std::move(work), options);
  }
  /// Starts a phase and waits for it. Collective. Throws: as `Phase::wait`.
  template <class F>
  PhaseReport each(F f, std::string_view name = {}) {
    return each(std::move(f), PhaseOptions{.name = name});
  }
  template <class F>
  PhaseReport each(F f, const PhaseOptions& options) {
    return start(std::move(f), options).wait();
  }

  /// Starts a phase of `steps` steps without barriers between them. Collective. An element runs `f(T&, ElementContext&,
  /// step)` for step 0, 1, ..., as soon as it has `inputs(const T&, step)` messages that were sent by
  /// `ElementContext::send_step` for this step. It takes these just before, in order of their senders, and others at
  /// once.
  ///
  /// Throws: as `start`. `Phase::wait` throws `Error` with `user_task` that names elements whose inputs were not sent,
  /// or arrived after their step.
  template <class Inputs, class F>
    requires std::is_invocable_v<F&, T&, ElementContext&, std::uint64_t> &&
             std::is_invocable_r_v<std::uint64_t, Inputs&, const T&, std::uint64_t>
  [[nodiscard]] Phase start_steps(std::uint64_t steps, Inputs inputs, F f, const PhaseOptions& options = {}) {
    auto keeps = std::make_shared<std::pair<Inputs, F>>(std::move(inputs), std::move(f));
    detail::PhaseWork work = work_of(steps, keeps->first, keeps->second);
    work.keeps = std::move(keeps);
    return begin(std::move(work), options);
  }
  /// Calls `start_steps`, and waits. Collective.
  template <class Inputs, class F>
    requires std::is_invocable_v<F&, T&, ElementContext&, std::uint64_t> &&
             std::is_invocable_r_v<std::uint64_t, Inputs&, const T&, std::uint64_t>
  PhaseReport iterate(std::uint64_t steps, Inputs inputs, F f, std::string_view name = {}) {
    return start_steps(steps, std::move(inputs), std::move(f), {.name = name}).wait();
  }

  /// Runs a phase in which each element calls `(element.*method)(values...)`. Collective, with equal arguments.
  template <auto method, class... Values>
  PhaseReport broadcast(const Values&... values) {
    return each([&](T& element) { (element.*method)(values...); });
  }

  /// Sends a message at the start of the next phase, as `ElementContext::send`. From any rank.
  template <auto method, class... Values>
  void send(ElementId to, Values&&... values) {
    typename detail::Method<method>::Arguments arguments{std::forward<Values>(values)...};
    engine_->send_later(to, detail::new_mail<method>(ElementId{}, detail::no_step, std::move(arguments)));
  }

  // ---- elements, between phases ----

  /// Moves elements of this rank to other ranks, where later messages reach them. Collective. Invalidates pointers to
  /// moved elements. Throws: `Error` with `bad_argument`, on all ranks, for an element that is not here or is named
  /// twice, or for an invalid rank.
  MigrationReport migrate(std::span<const Move> moves) { return engine_->migrate(moves); }

  /// Adds an element on this rank. Not collective; other ranks can reach it from the next phase or migration on.
  /// Throws: `Error` with `bad_argument` when the id is in use here; in the next phase, on all ranks, if in use
  /// elsewhere.
  void create(ElementId id, T element) { engine_->create(id, *new detail::TypedElement<T>{std::move(element)}); }
  /// Removes an element of this rank and returns it. Throws: `Error` with `bad_argument` when it is not here.
  T take_out(ElementId id) {
    const std::unique_ptr<detail::TypedElement<T>> element{
        static_cast<detail::TypedElement<T>*>(engine_->take_out(id))};
    return std::move(element->object);
  }
  void erase(ElementId id) { (void)take_out(id); }
  /// Replaces an element of this rank, and returns the old one. Throws: as above.
  T swap_in(ElementId id, T element) {
    T* const place = find(id);
    if (place == nullptr) {
      throw Error{ErrorCode::bad_argument, "swap_in of an element that is not on this rank: use find first"};
    }
    return std::exchange(*place, std::move(element));
  }
  /// Replaces all elements, for restarts. Collective. `make()` returns those of this rank as pairs of id and element;
  /// each id is on one rank only. Throws: on all ranks, what `make` throws on any; the elements are then unchanged.
  /// Cost: a message for each element that is not at home.
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
