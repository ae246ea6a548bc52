// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/net/packet.hpp"

namespace plait::net {

/// What became of a request to move something.
enum class Post : std::uint8_t {
  done,    ///< Already moved; no completion follows.
  posted,  ///< In flight; a later `poll` returns its completion.
  retry,   ///< Nothing happened (queue full); call `poll`, then try again.
};

/// One of the places at which a rank can receive bulk data; chosen by the receiver, which sends it to the sender in a
/// packet.
using BulkSlot = Id<struct BulkSlotTag>;

/// A packet that has come from `peer`. The holder gives it back with `Driver::recycle`.
struct Arrival {
  Rank peer;
  Packet packet;
};

enum class TransferDirection : std::uint8_t { sent, received };

/// A bulk transfer that has ended: a sent buffer may be reused, a received one read.
struct BulkDone {
  TransferDirection direction = TransferDirection::sent;
  std::uint64_t cookie = 0;  ///< As given when it was posted.
};

/// How many entries of each span a `poll` has filled.
struct Polled {
  std::size_t arrivals = 0;
  std::size_t bulk = 0;
};

/// A buffer to send from, or to receive into, with what identifies the transfer.
struct BulkSend {
  Rank to;
  BulkSlot slot;  ///< As sent by the receiver, whose receive is already posted.
  std::span<const std::byte> data;
  std::uint64_t cookie = 0;
};
struct BulkReceive {
  Rank from;
  BulkSlot slot;                ///< Below `bulk_slot_count()`, and not in use.
  std::span<std::byte> buffer;  ///< Exactly as long as the data that will come.
  std::uint64_t cookie = 0;
};

/// What is constant while a driver lives.
struct DriverTraits {
  std::string name;  ///< For output and traces: "loopback", "sim", "mpi (Open MPI 4.1.4)".
  Rank self;
  std::uint32_t rank_count = 0;
  std::size_t packet_bytes_max = 0;  ///< Of the largest packet; at least 1024.
  /// Packets that a peer may have sent to this rank and this rank not yet polled, before memory beyond the driver's own
  /// buffers is used; bounds the endpoint's credits.
  std::uint32_t packets_in_flight_max = 0;
  /// Bulk receives that can be posted at once on one rank.
  std::uint32_t bulk_slot_count = 0;
  /// How much bulk data to have in flight from one peer. Where packets use the same stream, they wait for the data in
  /// it: enough to keep the link busy, and not more. Advice; a single transfer may be longer.
  std::size_t bulk_in_flight_max = std::numeric_limits<std::size_t>::max();
  /// The clock that this network's times follow; null: the machine's. Borrowed.
  const Clock* clock = nullptr;
};

/// Moves packets and bulk data between ranks, without reading them.
///
/// No tags, no matching, no thread of its own, no call upwards: `poll` returns what has happened.
/// Threads: one at a time, `acquire` and `recycle` included. Order: packets from one peer arrive in the order in which
/// they were sent, unless a driver documents otherwise (`sim` can reorder them on purpose); bulk data has no order.
/// Progress: only inside the calls below. All implementations pass tests/net/conformance_test.cpp.
///
/// Throws: `Error` with `ErrorCode::network` and the peer, when a connection is lost; never for a full queue.
class Driver {
 public:
  explicit Driver(DriverTraits traits) : traits_{std::move(traits)} {}
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  /// Gives up what is still in flight.
  virtual ~Driver() = default;

  [[nodiscard]] const DriverTraits& traits() const noexcept { return traits_; }
  [[nodiscard]] const char* name() const noexcept { return traits_.name.c_str(); }
  [[nodiscard]] Rank self() const noexcept { return traits_.self; }
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return traits_.rank_count; }
  [[nodiscard]] std::size_t packet_bytes_max() const noexcept { return traits_.packet_bytes_max; }
  [[nodiscard]] std::uint32_t packets_in_flight_max() const noexcept { return traits_.packets_in_flight_max; }
  [[nodiscard]] std::uint32_t bulk_slot_count() const noexcept { return traits_.bulk_slot_count; }
  [[nodiscard]] virtual std::size_t bulk_in_flight_max(Rank /*peer*/) const noexcept {
    return traits_.bulk_in_flight_max;
  }
  [[nodiscard]] const Clock& clock() const noexcept { return traits_.clock ? *traits_.clock : machine_clock_; }

  /// An empty packet of capacity `packet_bytes_max()`, from a pool; memory is taken only when the pool is empty.
  [[nodiscard]] virtual Packet acquire() = 0;
  /// Takes a packet back into the pool.
  virtual void recycle(Packet&& packet) noexcept = 0;

  /// Sends `packet` (at least 1 byte; to itself too) and puts it back into the pool once it is sent, without a
  /// completion. On `retry` the packet is untouched and may be offered again.
  [[nodiscard]] virtual Post send(Rank to, Packet&& packet) = 0;
  /// The data must stay until the `BulkDone` that bears its cookie. Never returns `done`. At least 1 byte.
  [[nodiscard]] virtual Post send_bulk(const BulkSend& bulk) = 0;
  /// The buffer must stay until the `BulkDone` that bears its cookie. Never returns `done`. At least 1 byte.
  [[nodiscard]] virtual Post receive_bulk(const BulkReceive& bulk) = 0;

  /// Fills the spans with what has happened since the last call and returns at once; what does not fit comes next time.
  [[nodiscard]] virtual Polled poll(std::span<Arrival> arrivals, std::span<BulkDone> bulk) = 0;

  /// True when nothing that this rank sent is still being moved by this driver.
  [[nodiscard]] virtual bool is_idle() const noexcept = 0;
  /// True when a packet to `to` is still being sent, so that later messages should share one packet.
  /// Learns nothing new without `poll`.
  [[nodiscard]] virtual bool is_busy(Rank to) const noexcept = 0;

 private:
  const DriverTraits traits_;
  SteadyClock machine_clock_;
};

}  // namespace plait::net
