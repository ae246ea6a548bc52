// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/data/detail/collection_engine.hpp"
#include "plait/data/detail/typed_element.hpp"
#include "plait/data/element.hpp"
#include "plait/data/mapping.hpp"
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

/// An element of this rank.
template <class T>
struct Local {
  ElementId id;
  T& element;
};

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
/// the one that made it, which is worker 0. One phase, flow or graph at a time on a scheduler.
template <class T>
class Collection {
 public:
  /// Collective. Makes the elements of `shape`, each on the rank that the mapping says, by `make(ElementId, Index)`.
  ///
  /// Borrows the runtime. Cost: a call of the mapping for each element of the shape.
  template <RuntimeLike Runtime, class Make>
    requires std::is_invocable_r_v<T, Make&, ElementId, Index>
  Collection(Runtime& runtime, const Shape& shape, Make make, CollectionOptions options = {})
      : engine_{std::make_unique<detail::CollectionEngine>(
            detail::CollectionEngine::Parts{runtime.messages(), runtime.scheduler(), runtime.trace()},
            shape,
            std::move(options),
            detail::kind_of<T>)} {
    for (std::uint64_t id = 0; id < shape.count(); ++id) {
      if (engine_->home(ElementId{id}) == engine_->self()) {
        engine_->insert(ElementId{id}, new detail::TypedElement<T>{make(ElementId{id}, shape.index(ElementId{id}))});
      }
    }
  }

  /// Collective: a phase. Each element runs `f(T&, Turn&)`, `f(T&)` or a method once, and takes the messages that it is
  /// sent, before or after that. Returns when all elements of all ranks have, and all messages sent meanwhile, and by
  /// those that took them, have been taken. What a failed phase leaves behind can only be ended.
  ///
  /// `name` in traces and errors. Throws: the first `Error` on any rank; what an element throws comes as `user_task`
  /// and names it; as `task::Scheduler::run`. Cost: below 1 us for each element and message, and four messages up and
  /// down a tree of the ranks.
  template <class F>
  PhaseReport each(F f, std::string_view name = {}) {
    return engine_->run_phase({&f,
                               [](void* function, void* object, Turn& turn) {
                                 auto& call = *static_cast<F*>(function);
                                 if constexpr (std::is_invocable_v<F&, T&, Turn&>) {
                                   std::invoke(call, *static_cast<T*>(object), turn);
                                 } else {
                                   std::invoke(call, *static_cast<T*>(object));
                                 }
                               }},
                              name);
  }

  /// From any one rank, between phases: as `Turn::send`, at the beginning of the next phase.
  template <auto method, class... Values>
  void send(ElementId to, Values&&... values) {
    typename detail::Method<method>::Arguments arguments{std::forward<Values>(values)...};
    engine_->send_later(to, *new detail::LocalMail<method>{ElementId{}, std::move(arguments)});
  }

  /// Collective: takes elements of this rank to other ranks. What is sent to them from then on reaches them there.
  ///
  /// Throws: `Error` with `bad_argument`, on all ranks, for an element that is not here or is named twice, or a rank
  /// that is not there. Pointers to moved elements are void.
  MigrationReport migrate(std::span<const Move> moves) { return engine_->migrate(moves); }

  /// The element if it is here, else null. Valid until it moves, or is erased.
  [[nodiscard]] T* find(ElementId id) const {
    detail::Element* const element = engine_->find(id);
    return element == nullptr ? nullptr : static_cast<T*>(element->value);
  }
  [[nodiscard]] std::size_t local_count() const { return engine_->local().size(); }
  /// The elements of this rank, in order of id, as `Local<T>`. Valid until any of them moves, is made or erased.
  [[nodiscard]] auto local() const {
    return engine_->local() | std::views::transform([](detail::Element* element) {
             return Local<T>{element->id, *static_cast<T*>(element->value)};
           });
  }
  [[nodiscard]] const Shape& shape() const noexcept { return engine_->shape(); }

  /// What each element of this rank has cost since the last reset, in order of id. It does not move with the element.
  [[nodiscard]] std::vector<ElementLoad> loads() const {
    std::vector<ElementLoad> loads;
    for (const detail::Element* const element : engine_->local()) {
      loads.push_back({element->id, std::chrono::duration<double>{element->busy}.count(), element->sent});
    }
    return loads;
  }
  void reset_loads() { engine_->reset_loads(); }

 private:
  std::unique_ptr<detail::CollectionEngine> engine_;
};

}  // namespace plait::data
