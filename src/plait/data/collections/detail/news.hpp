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

/// What a rank learns during a phase: elements that were created and erased, and messages to elements that no
/// rank knows. It takes effect on table and places when the phase ends (`adopt`). Threads: any, but for `adopt`.
class News {
 public:
  /// Sends a message to an element whose place has become known; called with the lock of the news held.
  using Deliver = std::function<void(const Route& route, ElementId to, Mail& mail)>;

  News(const CollectionInfo& info, ElementTable& table, Places& places) noexcept
      : info_{info}, table_{table}, places_{places} {}
  News(const News&) = delete;
  News& operator=(const News&) = delete;
  ~News();

  /// An element was created on this rank: takes it over. Messages that waited for it go to `deliver`. Throws: `Error`
  /// with `bad_argument` when the id is in use.
  void created_here(Element& element, const Deliver& deliver);
  /// At its home: an element was created on rank `at`. As above.
  void created_elsewhere(ElementId id, Rank at, const Deliver& deliver);
  /// An element of this rank has ended.
  void erased_here(Element& element);
  /// At its home: an element has ended elsewhere.
  void erased_elsewhere(ElementId id);
  /// Keeps a message to an element that this rank, its home, does not know; or delivers it, if it is known by now.
  void keep(ElementId to, Mail& mail, const Deliver& deliver);
  /// The way to an element that was created in this phase; empty if it was not.
  [[nodiscard]] Route route_to_created(ElementId id);

  /// Counts a message that no element takes.
  void lose(ElementId from, ElementId to);
  /// Ends a phase: all that was learnt holds from here on, and messages that are kept still are lost.
  void adopt();
  /// Moves the lost messages into a report.
  void report_lost(PhaseReport& report);
  /// Elements that have come into the collection or left it on this rank, since the beginning.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_.load(std::memory_order_relaxed); }
  void note_change() noexcept { changes_.fetch_add(1, std::memory_order_relaxed); }  // read when the rank is quiet
  /// The error for an id that is in use.
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
