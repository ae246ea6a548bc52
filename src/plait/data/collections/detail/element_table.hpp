// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "plait/data/collections/engine/collection_info.hpp"

namespace plait::data::detail {

/// The elements of a collection on this rank, which it owns.
///
/// Threads: any may look up while nothing changes; one thread changes it, between phases or in a migration.
class ElementTable {
 public:
  explicit ElementTable(const CollectionInfo& info) noexcept : info_{info} {}
  ElementTable(const ElementTable&) = delete;
  ElementTable& operator=(const ElementTable&) = delete;
  ~ElementTable() { clear(); }

  [[nodiscard]] Element* find(ElementId id) const;
  [[nodiscard]] bool contains(ElementId id) const { return by_id_.contains(id.value()); }
  /// As `find`. Throws: `Error` with `bad_argument` when the element is not here.
  [[nodiscard]] Element& here(ElementId id) const;
  [[nodiscard]] std::size_t count() const noexcept { return by_id_.size(); }
  /// Returns the elements in order of id. Valid until the table changes. Cost: sorts after a change.
  [[nodiscard]] std::span<Element* const> in_order();

  /// Takes over an element whose id is not here.
  void insert(Element& element);
  /// Removes an element, which the caller owns from then on. Throws: as `here`.
  Element* remove(ElementId id);
  void destroy(ElementId id) { info_.kind.destroy(remove(id)); }
  void clear();

  /// Packs an element. Throws: `Error` that names it, for anything that its functions throw.
  [[nodiscard]] Bytes pack(const Element& element) const;
  /// Unpacks an element, which the caller owns. Throws: as `pack`.
  [[nodiscard]] Element* unpack(ElementId id, std::span<const std::byte> packed) const;

 private:
  const CollectionInfo& info_;
  boost::unordered_flat_map<std::uint64_t, Element*> by_id_;
  std::vector<Element*> order_;
  bool is_order_old_ = false;
};

}  // namespace plait::data::detail
