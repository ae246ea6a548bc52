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

/// Where elements are that are not on this rank: homes, and what this rank knows beside them.
///
/// The home of an element always knows its place. Another rank that sends to it remembers its last place for 64 phases.
/// Nothing changes during a phase, so that all messages of a pair of elements take one way and keep their order; only
/// `learn` is called then, which takes effect with the next phase. Threads: `learn` and `next_stop` from any; others
/// from one at a time, between phases or in a migration.
class Places {
 public:
  /// `mapping`: homes of the elements of a regular shape.
  Places(const CollectionInfo& info, const ElementTable& here, Mapping mapping);

  [[nodiscard]] Rank home(ElementId id) const;
  /// Where a message to an element that is not here goes. No rank: this rank is its home and does not know it.
  [[nodiscard]] Rank next_stop(ElementId id);
  /// Whether this rank is the home of an element that exists elsewhere.
  [[nodiscard]] bool is_away(ElementId id) const { return away_.contains(id.value()); }

  /// Begins a phase: what was learnt holds from here on.
  void begin_phase(std::uint64_t phase);
  /// Begins a migration, which is a phase.
  void begin_migration();
  /// An element has gone from this rank to `to`.
  void has_left(ElementId id, Rank to);
  /// An element has come to this rank.
  void has_arrived(ElementId id);
  /// At the home of the element: it is on rank `at`, elsewhere.
  void set_away(ElementId id, Rank at) { away_.insert_or_assign(id.value(), at); }
  /// At the home of the element: it exists no longer.
  void forget(ElementId id) { away_.erase(id.value()); }
  /// Forgets all that is known of places.
  void clear();
  /// A message has been forwarded: its element is on rank `at`.
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
