// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plait/comm/activity.hpp"
#include "plait/comm/detail/completions.hpp"
#include "plait/comm/detail/exposed_region.hpp"
#include "plait/comm/detail/incoming.hpp"
#include "plait/comm/detail/message_trace.hpp"
#include "plait/comm/detail/network.hpp"
#include "plait/comm/detail/operation.hpp"
#include "plait/comm/detail/outbox.hpp"
#include "plait/comm/detail/rendezvous_receiver.hpp"
#include "plait/comm/detail/rts_table.hpp"

namespace plait::comm::detail {

/// Puts and gets: memory that this rank exposes, and the gets that it waits for.
///
/// A put is a message whose receive is found by the number of its memory, a get a request for such a message into the
/// buffer of the get. No data is ever unexpected. Threads: one at a time.
class OneSidedTransfers {
 public:
  /// The other members of the engine that are used; all must outlive it.
  struct Uses {
    Network& network;
    Activity& activity;
    MessageTrace& trace;
    Completions& completions;
    Outbox& outbox;
    RendezvousReceiver& rendezvous;
  };
  explicit OneSidedTransfers(const Uses& uses) : uses_{uses} {}

  /// Exposes `memory` until `remove`.
  [[nodiscard]] ExposedRegion& expose(std::span<std::byte> memory);
  /// Refuses transfers that begin from now on. What waits for puts completes with `bad_argument`.
  void withdraw(ExposedRegion& region);
  /// Ends a withdrawn region. Expects: it is quiet.
  void remove(ExposedRegion& region);
  /// Completes `operation` when `count` puts into `region` are in place.
  void wait_for(ExposedRegion& region, std::uint64_t count, Operation& operation);

  /// Starts a get of what `receive` has room for, from `offset` on in memory `id` of its peer.
  void get(Operation& receive, std::uint64_t id, std::size_t offset);

  /// Delivers the next message in order. Throws: `Error` with `bad_argument` for memory that is not exposed, or a range
  /// outside of it; with `network` for malformed packets.
  void deliver(const Incoming& message);
  /// All data of a put that `deliver` has begun to receive is in place.
  void note_in_place(const Operation& receive);

  /// Calls `visit` with each operation that waits.
  template <class Visit>
  void for_each(Visit visit) const {
    gets_.for_each(visit);
    for (const std::unique_ptr<ExposedRegion>& region : regions_) {
      if (region) {
        region->for_each_waiting(visit);
      }
    }
  }

 private:
  void deliver_put(const Incoming& message);
  void deliver_put_rts(const Incoming& message);
  void deliver_get(const Incoming& message);
  void deliver_got(const Incoming& message);
  void complete_reached(ExposedRegion& region);
  [[nodiscard]] ExposedRegion* find(std::uint64_t id) const noexcept;
  [[nodiscard]] std::span<std::byte> range(const ExposedRegion* region,
                                           const Incoming& message,
                                           std::uint64_t offset,
                                           std::uint64_t bytes) const;

  const Uses uses_;
  RtsTable gets_;
  std::vector<std::unique_ptr<ExposedRegion>> regions_;  ///< Null = free. Numbers are as in `RtsTable`.
  std::vector<std::uint32_t> free_;
  std::uint64_t count_ = 0;
};

}  // namespace plait::comm::detail
