// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/clock.hpp"
#include "plait/base/error.hpp"
#include "plait/net/detail/packet_pool.hpp"
#include "plait/net/driver.hpp"

namespace plait::net::detail {

/// Moves up to `out.size()` elements of `from`, from index `next` on, into `out`; returns their number. Advances
/// `next`, and empties a list that has been taken to its end.
template <class T>
std::size_t take(std::vector<T>& from, std::size_t& next, std::span<T> out) {
  const std::size_t count = std::min(out.size(), from.size() - next);
  std::move(from.begin() + static_cast<std::ptrdiff_t>(next),
            from.begin() + static_cast<std::ptrdiff_t>(next + count),
            out.begin());
  next += count;
  if (next == from.size()) {
    from.clear();
    next = 0;
  }
  return count;
}

/// What the drivers between processes share: a pool of packets, and a list of ended transfers.
class PooledDriver : public Driver {
 public:
  explicit PooledDriver(DriverTraits given) : Driver{std::move(given)}, pool_{packet_bytes_max(), pool_spare_max} {}

  [[nodiscard]] Packet acquire() final { return pool_.acquire(); }
  void recycle(Packet&& packet) noexcept final { pool_.recycle(std::move(packet)); }

 protected:
  /// Moves ended transfers to `out`; returns their number.
  std::size_t take_done(std::span<BulkDone> out) { return done_.empty() ? 0 : take(done_, next_done_, out); }

  PacketPool pool_;
  std::vector<BulkDone> done_;  ///< Ended transfers that have not been polled yet.

 private:
  static constexpr std::size_t pool_spare_max = 256;

  std::size_t next_done_ = 0;
};

/// The traits of a driver whose ranks are in one process, from the options of its network.
template <class Options>
[[nodiscard]] DriverTraits traits_from(
    const Options& options, const char* name, Rank self, std::size_t rank_count, const Clock* clock) {
  return {.name = name,
          .self = self,
          .rank_count = static_cast<std::uint32_t>(rank_count),
          .packet_bytes_max = options.packet_bytes_max,
          .packets_in_flight_max = options.packets_in_flight_max,
          .bulk_slot_count = options.bulk_slot_count,
          .bulk_in_flight_max = options.bulk_in_flight_max,
          .clock = clock};
}

/// Takes `rank` of a network in one process. Throws: `Error` with `bad_argument` when it is no rank of this network, or
/// was taken before.
template <class State>
void take_rank(State& state, const char* network, Rank rank) {
  const bool is_known = rank && rank.value() < state.ranks.size();
  if (!is_known || std::exchange(state.of(rank).is_taken, true)) {
    throw Error{ErrorCode::bad_argument,
                is_known ? fmt::format("rank {} of this {} network has its driver already", rank.value(), network)
                         : fmt::format("there is no such rank in a {} network of {}", network, state.ranks.size()),
                rank};
  }
}

inline void expect_valid(const Driver& driver, Rank peer, std::size_t packet_bytes) {
  expect(packet_bytes > 0, "a packet that is sent has at least one byte");
  expect(packet_bytes <= driver.packet_bytes_max(), "a packet is at most as long as the driver allows");
  expect(peer.value() < driver.rank_count(), "the receiver is a rank of this network");
}
inline void expect_valid(const Driver& driver, const BulkSend& bulk) {
  expect(!bulk.data.empty(), "a bulk transfer has at least one byte");
  expect(bulk.slot.value() < driver.bulk_slot_count(), "the receiver has the slot");
}
inline void expect_valid(const Driver& driver, const BulkReceive& bulk) {
  expect(!bulk.buffer.empty(), "a bulk transfer has at least one byte");
  expect(bulk.slot.value() < driver.bulk_slot_count(), "this rank has the slot");
}

}  // namespace plait::net::detail
