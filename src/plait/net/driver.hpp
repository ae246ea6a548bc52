// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/net/packet.hpp"

namespace plait {
class Executor;
}

namespace plait::net {

class SharedCopies;

/// Result of a request to move data.
enum class Post : std::uint8_t {
  done,    ///< Complete; no completion follows.
  posted,  ///< In flight; a later `poll` returns its completion.
  retry,   ///< A queue is full and nothing was posted; call `poll`, then try again.
};

/// Where a rank receives bulk data. The receiver chooses a slot and sends it to the sender in a packet.
using BulkSlot = Id<struct BulkSlotTag>;

/// A packet from `peer`, which the holder returns with `Driver::recycle`; or its bytes in memory of the driver, where
/// they stay until the next `poll`.
struct Arrival {
  Rank peer;
  Packet packet;
  std::span<const std::byte> in_place;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return packet ? packet.bytes() : in_place; }
};

enum class TransferDirection : std::uint8_t { sent, received };

/// A complete bulk transfer: a sent buffer may be reused, a received one read.
struct BulkDone {
  TransferDirection direction = TransferDirection::sent;
  std::uint64_t cookie = 0;  ///< As given when it was posted.
};

/// The number of entries of each span that a `poll` has filled.
struct Polled {
  std::size_t arrivals = 0;
  std::size_t bulk = 0;
};

/// A buffer to send from or to receive into, and what identifies the transfer.
struct BulkSend {
  Rank to;
  BulkSlot slot;  ///< As sent by the receiver, whose receive is already posted.
  std::span<const std::byte> data;
  std::uint64_t cookie = 0;
};
struct BulkReceive {
  Rank from;
  BulkSlot slot;                ///< Below `bulk_slot_count()` and not in use.
  std::span<std::byte> buffer;  ///< Exactly as long as the data.
  std::uint64_t cookie = 0;
};

/// What is constant while a driver lives.
struct DriverTraits {
  std::string name;  ///< For output and traces: "loopback", "sim", "mpi (Open MPI 4.1.4)".
  Rank self;
  std::uint32_t rank_count = 0;
  std::size_t packet_bytes_max = 0;  ///< Of the largest packet; at least 1024.
  /// Unpolled packets from one peer that fit into the driver's own buffers; bounds the endpoint's credits.
  std::uint32_t packets_in_flight_max = 0;
  /// Bulk receives that can be posted at once on one rank.
  std::uint32_t bulk_slot_count = 0;
  /// Advised bulk data in flight from one peer: enough to keep the link busy, no more where packets share its stream.
  /// A single transfer may be longer.
  std::size_t bulk_in_flight_max = std::numeric_limits<std::size_t>::max();
  /// The network's clock; null for the machine's. Borrowed.
  const Clock* clock = nullptr;
  /// What carries the threads of this rank; null for the system. Borrowed.
  Executor* executor = nullptr;
};

/// Moves packets and bulk data between ranks, without reading them.
///
/// A driver has no tags, no matching, no thread and no callbacks. Packets from one peer arrive in the order of sending,
/// unless a driver documents otherwise (`sim` can reorder them); bulk data is unordered. Progress is made only inside
/// the calls below. All implementations pass tests/net/conformance_test.cpp. Threads: one at a time, for every call.
///
/// Throws: `Error` with `ErrorCode::network` and the peer when a connection is lost; never for a full queue.
class Driver {
 public:
  explicit Driver(DriverTraits traits) : traits_{std::move(traits)} {}
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  /// Abandons what is still in flight.
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
  /// The most that `send_copy` sends to `peer` at once; at least a packet.
  [[nodiscard]] virtual std::size_t copied_bytes_max(Rank /*peer*/) const noexcept { return packet_bytes_max(); }
  /// Whether data to `peer` passes a network, and not memory that both ranks share.
  [[nodiscard]] virtual bool passes_network(Rank peer) const noexcept { return peer != self(); }
  /// Data that several ranks read in shared memory; null when this driver has none. The driver owns it.
  [[nodiscard]] virtual SharedCopies* shared_copies() noexcept { return nullptr; }
  [[nodiscard]] const Clock& clock() const noexcept { return traits_.clock ? *traits_.clock : machine_clock_; }

  /// What carries the threads of this rank; null: the system.
  [[nodiscard]] Executor* executor() const noexcept { return traits_.executor; }

  /// Returns an empty packet of capacity `packet_bytes_max()` from a pool; allocates only when the pool is empty.
  [[nodiscard]] virtual Packet acquire() = 0;
  /// Returns a packet to the pool; without a buffer, does nothing.
  virtual void recycle(Packet&& packet) noexcept = 0;

  /// Sends `packet`, at least 1 byte, and returns it to the pool once it is sent. There is no completion. `to` may be
  /// this rank. On `retry` the packet is unchanged.
  [[nodiscard]] virtual Post send(Rank to, Packet&& packet) = 0;
  /// Sends a packet of `head` and `data`, which it copies: `send`, without a packet to be filled first. One of more
  /// than `packet_bytes_max()` arrives `in_place`.
  [[nodiscard]] virtual Post send_copy(Rank to, std::span<const std::byte> head, std::span<const std::byte> data);
  /// Sends at least 1 byte, which must stay until the `BulkDone` with its cookie. Never returns `done`.
  [[nodiscard]] virtual Post send_bulk(const BulkSend& bulk) = 0;
  /// Receives at least 1 byte. The buffer must stay until the `BulkDone` with its cookie. Never returns `done`.
  [[nodiscard]] virtual Post receive_bulk(const BulkReceive& bulk) = 0;

  /// Fills the spans with the events since the last call, without waiting. A later call returns those that do not fit.
  [[nodiscard]] virtual Polled poll(std::span<Arrival> arrivals, std::span<BulkDone> bulk) = 0;

  /// Has peers that send from now on wake a thread of this rank that is in `rest`. False when this driver cannot.
  [[nodiscard]] virtual bool announce_rest() { return false; }
  /// Sleeps until a peer sends, `wake` is called, or for `longest`; after `announce_rest` and a poll without an event.
  /// May also end for no reason. Threads: any, beside other calls.
  virtual void rest(nanoseconds /*longest*/) {}
  /// Ends `rest` in this rank. Threads: any, beside other calls.
  virtual void wake() noexcept {}

  /// Keeps `memory` of a transfer in flight, whose owner ends before this driver, until the transfer is abandoned.
  void keep(Bytes&& memory) { kept_.push_back(std::move(memory)); }

  /// Whether `send` to any other rank would return `retry`, so that no packet needs to be filled. Changes in calls of
  /// this rank only. A driver whose ranks have queues of their own never is.
  [[nodiscard]] virtual bool is_full() const noexcept { return false; }
  /// Whether all that this rank has sent is complete.
  [[nodiscard]] virtual bool is_idle() const noexcept = 0;
  /// Whether a packet to `to` is still being sent, so that later messages should share a packet. Changes in `poll`
  /// only.
  [[nodiscard]] virtual bool is_busy(Rank to) const noexcept = 0;

 private:
  const DriverTraits traits_;
  SteadyClock machine_clock_;
  std::vector<Bytes> kept_;  ///< Freed after the implementation's own destructor.
};

inline Post Driver::send_copy(Rank to, std::span<const std::byte> head, std::span<const std::byte> data) {
  Packet packet = acquire();
  packet.resize(head.size() + data.size());
  std::ranges::copy(data, std::ranges::copy(head, packet.data()).out);
  const Post post = send(to, std::move(packet));
  if (post == Post::retry) {
    recycle(std::move(packet));  // NOLINT(bugprone-use-after-move): unchanged
  }
  return post;
}

}  // namespace plait::net
