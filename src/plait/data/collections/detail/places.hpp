// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "plait/base/spin_lock.hpp"
#include "plait/data/collections/detail/element_table.hpp"
#include "plait/data/collections/mapping.hpp"

namespace plait::data::detail {

/// The locations of elements of other ranks: their homes, and locations that this rank has learnt.
///
/// The home of an element always knows its location. Other ranks that send to it remember its last location for 64
/// phases. Locations do not change during a phase, so that messages between two elements take one route and keep their
/// order. Threads: any for `learn` and `next_stop`; one at a time for the rest, between phases or in a migration.
class Places {
 public:
  /// `mapping`: homes of the elements of a regular shape.
  Places(const CollectionInfo& info, const ElementTable& here, Mapping mapping);

  [[nodiscard]] Rank home(ElementId id) const;
  /// Returns the rank to which a message to an element elsewhere is sent; invalid if its home is here and does not know
  /// it.
  [[nodiscard]] Rank next_stop(ElementId id);
  /// Returns whether this rank is the home of an element that exists elsewhere.
  [[nodiscard]] bool is_away(ElementId id) const { return away_.contains(id.value()); }

  /// Begins a phase, with the locations that were learnt in the last one.
  void begin_phase(std::uint64_t phase);
  /// Begins a migration, which is a phase.
  void begin_migration();
  /// Notes that an element has moved from this rank to `to`.
  void has_left(ElementId id, Rank to);
  /// Notes that an element has moved to this rank.
  void has_arrived(ElementId id);
  /// Notes, at the home of an element, that it is on rank `at`.
  void set_away(ElementId id, Rank at) { away_.insert_or_assign(id.value(), at); }
  /// Notes, at the home of an element, that it was erased.
  void forget(ElementId id) { away_.erase(id.value()); }
  /// Forgets all locations.
  void clear();
  /// Notes that an element is on rank `at`, as a message was forwarded there. Holds from the next phase on.
  void learn(ElementId id, Rank at);

 private:
  struct Heard {
    Rank rank;
    std::uint32_t used = 0;  ///< The last phase that has used it, in which it was right; through an atomic_ref.
  };
  [[nodiscard]] bool is_trusted(Heard& place) const;

  const CollectionInfo& info_;
  const ElementTable& here_;
  const Mapping mapping_;
  const Mapping beyond_;  ///< Homes of ids that the shape does not have.
  std::uint32_t phase_ = 0;
  boost::unordered_flat_map<std::uint64_t, Rank> away_;    ///< Of elements whose home this is, if not here.
  boost::unordered_flat_map<std::uint64_t, Heard> heard_;  ///< Of others, not at home: where they were last.
  std::array<std::uint32_t, 2> migrations_{};              ///< Phases: of the last one, and of that before.
  SpinLock lock_;                                          ///< Guards the next.
  std::vector<std::pair<ElementId, Rank>> learnt_;
};

}  // namespace plait::data::detail
