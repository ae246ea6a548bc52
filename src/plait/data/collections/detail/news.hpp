// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "plait/base/error.hpp"
#include "plait/base/spin_lock.hpp"
#include "plait/data/collections/detail/element_table.hpp"
#include "plait/data/collections/detail/places.hpp"
#include "plait/data/collections/report.hpp"

namespace plait::data::detail {

/// Elements that were created and erased during a phase, and messages to elements that no rank knows. Table and places
/// are updated when the phase ends (`adopt`). Threads: any, but for `adopt`.
class News {
 public:
  /// Delivers a message to an element whose location has become known; called with the lock held.
  using Deliver = std::function<void(const Route& route, ElementId to, Mail& mail)>;

  News(const CollectionInfo& info, ElementTable& table, Places& places) noexcept
      : info_{info}, table_{table}, places_{places} {}
  News(const News&) = delete;
  News& operator=(const News&) = delete;
  ~News();

  /// Takes over an element that was created on this rank, and passes messages that waited for it to `deliver`. Throws:
  /// `Error` with `bad_argument` when the id is in use.
  void created_here(Element& element, const Deliver& deliver);
  /// Notes, at its home, that an element was created on rank `at`. As above.
  void created_elsewhere(ElementId id, Rank at, const Deliver& deliver);
  /// Notes that an element of this rank was erased.
  void erased_here(Element& element);
  /// Notes, at its home, that an element was erased on another rank.
  void erased_elsewhere(ElementId id);
  /// Keeps a message to an element that its home, this rank, does not know, or delivers it if the element is known by
  /// now.
  void keep(ElementId to, Mail& mail, const Deliver& deliver);
  /// Returns the route to an element that was created in this phase; empty if it was not.
  [[nodiscard]] Route route_to_created(ElementId id);

  /// Counts a lost message.
  void lose(ElementId from, ElementId to);
  /// Updates table and places at the end of a phase. Messages that are still kept are lost.
  void adopt();
  /// Moves the lost messages into a report.
  void report_lost(PhaseReport& report);
  /// Counts elements that were created or removed on this rank, since the beginning.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_.load(std::memory_order_relaxed); }
  void note_change() noexcept { changes_.fetch_add(1, std::memory_order_relaxed); }  // read when the rank is quiet
  /// Returns the error for an id that is in use.
  [[nodiscard]] Error id_is_used(ElementId id) const;

 private:
  [[nodiscard]] Route find_created(ElementId id) const;
  void deliver_kept(ElementId id, const Route& route, const Deliver& deliver);

  const CollectionInfo& info_;
  ElementTable& table_;
  Places& places_;
  std::atomic<std::uint64_t> changes_ = 0;
  std::atomic<std::uint64_t> created_count_ = 0;  ///< In this phase, here or registered here; read without the lock.
  SpinLock lock_;                                 ///< Guards all below.
  boost::unordered_flat_map<std::uint64_t, Element*> created_;
  boost::unordered_flat_map<std::uint64_t, Rank> registered_;  ///< Whose home this is, that were created elsewhere.
  std::vector<Element*> erased_;
  std::vector<ElementId> gone_;
  std::vector<std::pair<ElementId, Mail*>> kept_;
  std::uint64_t lost_count_ = 0;
  std::vector<LostMessage> lost_;
};

}  // namespace plait::data::detail
