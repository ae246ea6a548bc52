// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/id.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/collectives/reduce.hpp"
#include "plait/data/collections/element.hpp"
#include "plait/data/collections/engine/all_ranks.hpp"
#include "plait/data/collections/engine/collection_engine.hpp"
#include "plait/data/collections/engine/results.hpp"
#include "plait/data/collections/engine/typed_element.hpp"
#include "plait/data/collections/report.hpp"
#include "plait/data/collections/shape.hpp"
#include "plait/data/serialize.hpp"

namespace plait::data {

/// An element of this rank, in `Elements::local`.
template <class T>
struct Local {
  ElementId id;
  T& element;
};

/// A copy of an element by packing and unpacking.
template <class T>
struct MovedCopy {
  Bytes packed;
  Bytes packed_again;  ///< The copy.
  T copy;
};

/// The elements of a `Collection` between phases: those of this rank, and results of all.
///
/// While a phase is open, all functions but `name`, `shape`, `self`, `rank_count`, `group` and `placement_version`
/// throw `Error` with `bad_argument`. Threads: that of the collection.
template <class T>
class Elements {
 public:
  // ---- of this rank ----

  /// Returns an element of this rank, or null. Valid until the element moves or is erased.
  [[nodiscard]] T* find(ElementId id) const {
    detail::Element* const element = engine_->find(id);
    return element == nullptr ? nullptr : static_cast<T*>(element->value);
  }
  [[nodiscard]] std::size_t local_count() const { return engine_->local().size(); }
  /// Returns the elements of this rank as `Local<T>`, in order of id. Valid until any is created, moved or erased.
  [[nodiscard]] auto local() const {
    return engine_->local() | std::views::transform([](detail::Element* element) {
             return Local<T>{element->id, *static_cast<T*>(element->value)};
           });
  }
  [[nodiscard]] const std::string& name() const noexcept { return engine_->info().name; }
  [[nodiscard]] const Shape& shape() const noexcept { return engine_->info().shape; }

  /// Packs an element of this rank by `serialize.hpp`, or by the collection's accessor. Throws: `Error` that names it
  /// when it is not here, or cannot be packed.
  [[nodiscard]] Bytes pack_element(ElementId id) const { return engine_->pack(id); }
  /// Unpacks an element into an object in no collection. Throws: `Error` that names `id`, for bytes that are no
  /// element.
  [[nodiscard]] T unpack_element(ElementId id, std::span<const std::byte> packed) const {
    return std::move(unpack(id, packed)->object);
  }
  /// Returns a copy of an element of this rank as it would arrive elsewhere, and the bytes of both, for checks.
  [[nodiscard]] MovedCopy<T> copy_by_moving(ElementId id) const {
    Bytes packed = pack_element(id);
    const auto copy = unpack(id, packed);
    Bytes packed_again = engine_->pack(*copy);
    return {std::move(packed), std::move(packed_again), std::move(copy->object)};
  }

  /// Returns the cost of each element of this rank since the last reset, in order of id. Costs do not migrate.
  [[nodiscard]] std::vector<ElementLoad> loads() const {
    std::vector<ElementLoad> loads;
    for (const detail::Element* const element : engine_->local()) {
      loads.push_back({element->id, std::chrono::duration<double>{element->busy}.count(), element->sent.to});
    }
    return loads;
  }
  /// Returns the time since the last reset that this rank spent for its elements beside their calls: at ends of their
  /// tasks and for arriving messages, without network progress.
  [[nodiscard]] double overhead_seconds() const { return std::chrono::duration<double>{engine_->overhead()}.count(); }

  /// Returns a number that changes with the placement of elements, the same on all ranks after the same phase or
  /// migration. Elements that were created or taken out since then are not counted yet.
  [[nodiscard]] std::uint64_t placement_version() const noexcept { return engine_->placement(); }

  [[nodiscard]] Rank self() const noexcept { return engine_->info().self; }
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return engine_->info().rank_count; }
  /// The group of all ranks, for collectives between phases in the same order on every rank.
  [[nodiscard]] const comm::Group& group() const noexcept { return engine_->group(); }

  // ---- results of all elements; collective ----

  /// Combines `f(const T&)` of all elements by `op`, in an order that depends on their placement. Without elements:
  /// `V{}`.
  template <class F, class Op = comm::Sum, class V = std::invoke_result_t<F&, const T&>>
    requires std::is_trivially_copyable_v<V>
  [[nodiscard]] V all_reduce(F f, Op op = {}) const {
    std::array<detail::Partial<V>, 1> all{};
    for (const auto& [id, element] : local()) {
      all[0] = detail::combine(all[0], {f(std::as_const(element)), 1}, op);
    }
    const auto combine = [op](const detail::Partial<V>& left, const detail::Partial<V>& right) {
      return detail::combine(left, right, op);
    };
    detail::settle(group(), comm::all_reduce(group(), std::span{all}, combine));
    return all[0].value;
  }

  /// Returns the inclusive scan of `f` in order of id, for each element of this rank. The order does not depend on
  /// placement. Cost: each value goes to the rank of its range of ids, and back; every rank gets a value of each rank.
  template <class F, class Op = comm::Sum, class V = std::invoke_result_t<F&, const T&>>
  [[nodiscard]] std::vector<V> scan(F f, Op op = {}) const {
    const detail::Stretches stretches{group(), engine_->local()};
    std::vector<std::vector<std::pair<ElementId, V>>> values(rank_count());
    for (const auto& [id, element] : local()) {
      values[stretches.of(id)].emplace_back(id, f(std::as_const(element)));
    }
    return detail::scan_stretches(group(), values, op);
  }

  /// Returns `f(const T&)` of every element in order of id on `root`, and nothing elsewhere.
  template <class F, class V = std::invoke_result_t<F&, const T&>>
  [[nodiscard]] std::vector<std::pair<ElementId, V>> gather(Rank root, F f) const {
    std::vector<std::pair<ElementId, V>> values;
    for (const auto& [id, element] : local()) {
      values.emplace_back(id, f(std::as_const(element)));
    }
    return detail::in_order<V>(detail::gather_any(group(), root.value(), pack(values)));
  }

  /// Returns the number of elements on all ranks.
  [[nodiscard]] std::uint64_t count() const {
    return all_reduce([](const T&) { return std::uint64_t{1}; });
  }

 protected:
  explicit Elements(std::shared_ptr<detail::CollectionEngine> engine) noexcept : engine_{std::move(engine)} {}

  std::shared_ptr<detail::CollectionEngine> engine_;

 private:
  [[nodiscard]] std::unique_ptr<detail::TypedElement<T>> unpack(ElementId id, std::span<const std::byte> packed) const {
    return std::unique_ptr<detail::TypedElement<T>>{static_cast<detail::TypedElement<T>*>(engine_->unpack(id, packed))};
  }
};

}  // namespace plait::data
