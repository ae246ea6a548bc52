// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"
#include "plait/comm/detail/completions.hpp"
#include "plait/comm/detail/network.hpp"
#include "plait/comm/detail/operation.hpp"
#include "plait/comm/detail/outbox.hpp"
#include "plait/comm/options.hpp"
#include "plait/comm/wire.hpp"

namespace plait::comm::detail {

/// The receiving half of rendezvous: posts a bulk slot for each segment, and clears the sender to send it.
///
/// The most urgent receive gets slots first; of equal ones the oldest, so that it completes soon. Not more is in flight
/// from a peer than the driver advises. Threads: one at a time.
class RendezvousReceiver {
 public:
  /// A segment that has arrived.
  struct Arrived {
    Operation& receive;
    std::size_t offset = 0;
    std::size_t bytes = 0;
    bool is_last = false;  ///< All of the message is here now.
  };

  /// All must outlive it.
  RendezvousReceiver(Network& network, Outbox& outbox, Completions& completions, const EndpointOptions& options)
      : network_{network},
        outbox_{outbox},
        completions_{completions},
        segment_bytes_{options.segment_bytes},
        segments_in_flight_{options.segments_in_flight},
        segments_(network.driver().bulk_slot_count()) {
    require(options.segment_bytes > 0 && options.segments_in_flight > 0,
            "segment_bytes and segments_in_flight must be at least 1");
    for (std::uint32_t rank = 0; rank < network.driver().rank_count(); ++rank) {
      peers_.push_back({.bytes_max = network.driver().bulk_in_flight_max(Rank{rank}), .held_back = {}});
    }
    for (std::uint32_t slot = network.driver().bulk_slot_count(); slot-- > 0;) {
      free_slots_.push_back(slot);
    }
  }

  /// Receives the message with the sender's number `rts`, of which the sender has `available` bytes.
  void start(Operation& receive, std::uint64_t rts, std::size_t available) {
    receive.rts = rts;
    receive.arrival = ++arrivals_;
    if (receive.bytes == 0) {  // a driver moves at least a byte
      outbox_.send_control(receive.peer, {.kind = wire::ChunkKind::refused, .operation = rts});
      completions_.complete(receive, 0);
      return;
    }
    receive.available = available;
    if (receive.available < receive.bytes) {
      const auto known = available_.try_emplace({receive.peer, rts}).first;
      known->second.bytes = std::max(known->second.bytes, receive.available);
      known->second.receive = &receive;
      receive.available = known->second.bytes;
      if (receive.available == receive.bytes) {
        available_.erase(known);
      }
    }
    queue(receive);
    request_segments();
  }

  /// Notifies the sender that its data is not wanted.
  void refuse(Rank via, std::uint64_t rts) {
    available_.erase({via, rts});
    outbox_.send_control(via, {.kind = wire::ChunkKind::refused, .operation = rts});
  }

  /// The sender of a multicast has more of its data. No segment is requested earlier: slots would deadlock.
  void handle_available(Rank via, const wire::Header& header) {
    const auto known = available_.try_emplace({via, header.operation}).first;
    known->second.bytes = std::max<std::size_t>(known->second.bytes, header.bytes);
    Operation* const receive = known->second.receive;
    if (receive == nullptr) {  // not matched yet
      return;
    }
    receive->available = known->second.bytes;
    if (receive->available == receive->bytes) {
      available_.erase(known);
    }
    queue(*receive);
    request_segments();
  }

  [[nodiscard]] Arrived segment_arrived(std::uint64_t slot) {
    Segment& segment = segments_.at(slot);
    Operation& receive = *std::exchange(segment.receive, nullptr);
    free_slots_.push_back(static_cast<std::uint32_t>(slot));
    if (!segment.copy.empty()) {
      receive.scatter(segment.offset, segment.copy);
      segment.copy = {};
    }
    receive.bytes_moved += segment.bytes;
    --receive.segments_in_flight;
    Peer& from = peers_[receive.peer.value()];
    from.bytes -= segment.bytes;
    if (!from.held_back.empty()) {
      queue_.insert(from.held_back.extract(from.held_back.begin()));
    }
    return {receive, segment.offset, segment.bytes, receive.bytes_moved == receive.bytes};
  }

  /// Queues `receive` when it may request another segment.
  void queue(Operation& receive) {
    const std::size_t next = next_bytes(receive);
    if (receive.is_queued || next == 0 || receive.next_offset + next > receive.available ||
        receive.segments_in_flight >= segments_in_flight_) {
      return;
    }
    receive.is_queued = true;
    queue_.emplace(Urgency{receive.priority, receive.arrival}, &receive);
  }

  /// Requests segments for queued receives, as long as there are slots.
  void request_segments() {
    while (!queue_.empty() && !free_slots_.empty()) {
      Operation& receive = *queue_.begin()->second;
      Peer& from = peers_[receive.peer.value()];
      if (from.bytes > 0 && from.bytes + next_bytes(receive) > from.bytes_max) {
        from.held_back.insert(queue_.extract(queue_.begin()));
        continue;
      }
      if (!request_segment(receive)) {
        return;
      }
      queue_.erase(queue_.begin());
      receive.is_queued = false;
      queue(receive);
    }
  }

  /// Whether a receive waits for a slot.
  [[nodiscard]] bool has_backlog() const noexcept { return !queue_.empty(); }
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Segment& segment : segments_) {
      visit(segment.receive);
    }
    for (const auto& [place, receive] : queue_) {
      visit(receive);
    }
    for (const Peer& peer : peers_) {
      for (const auto& [place, receive] : peer.held_back) {
        visit(receive);
      }
    }
    for (const auto& [message, known] : available_) {
      visit(known.receive);
    }
  }

 private:
  /// The order in which receives get slots.
  struct Urgency {
    int priority = 0;
    std::uint64_t arrival = 0;

    friend bool operator<(const Urgency& one, const Urgency& other) {
      return one.priority != other.priority ? one.priority > other.priority : one.arrival < other.arrival;
    }
  };
  using Queue = std::map<Urgency, Operation*>;
  struct Segment {
    Operation* receive = nullptr;
    std::size_t offset = 0;
    std::size_t bytes = 0;
    Bytes copy;  ///< Where the buffer is not contiguous.
  };
  struct Peer {
    std::size_t bytes = 0;  ///< Of segments in flight from it.
    std::size_t bytes_max = 0;
    Queue held_back;  ///< Receives that wait for these to arrive.
  };
  /// What the sender of a multicast has offered, before or after this rank's receive was matched.
  struct Available {
    std::size_t bytes = 0;
    Operation* receive = nullptr;
  };

  /// So that all segments of a message that may be in flight fit into what may be in flight from its peer.
  [[nodiscard]] std::size_t next_bytes(const Operation& receive) const {
    const std::size_t share = peers_[receive.peer.value()].bytes_max / segments_in_flight_;
    return std::min({segment_bytes_, std::max<std::size_t>(share, 1), receive.bytes - receive.next_offset});
  }

  /// False when the driver is full or has failed.
  [[nodiscard]] bool request_segment(Operation& receive) {
    const std::uint32_t slot = free_slots_.back();
    Segment& segment = segments_[slot];
    const std::size_t bytes = next_bytes(receive);
    std::span<std::byte> memory = receive.contiguous(receive.next_offset, bytes);
    if (memory.empty()) {
      segment.copy.resize(bytes);
      memory = segment.copy;
    }
    if (!network_.receive_bulk({receive.peer, net::BulkSlot{slot}, memory, slot})) {
      return false;
    }
    free_slots_.pop_back();
    segment.receive = &receive;
    segment.offset = receive.next_offset;
    segment.bytes = bytes;
    const wire::Cts cts{.offset = receive.next_offset, .bytes = bytes, .slot = slot};
    receive.next_offset += bytes;
    ++receive.segments_in_flight;
    peers_[receive.peer.value()].bytes += bytes;
    outbox_.send_control(
        receive.peer, {.kind = wire::ChunkKind::cts, .operation = receive.rts}, std::as_bytes(std::span{&cts, 1}));
    return true;
  }

  Network& network_;
  Outbox& outbox_;
  Completions& completions_;
  const std::size_t segment_bytes_;
  const std::uint32_t segments_in_flight_;
  Queue queue_;  ///< Receives that may request a segment.
  std::uint64_t arrivals_ = 0;
  std::map<std::pair<Rank, std::uint64_t>, Available> available_;  ///< By sender and its number of the message.
  std::vector<Peer> peers_;
  std::vector<Segment> segments_;  ///< By slot.
  std::vector<std::uint32_t> free_slots_;
};

}  // namespace plait::comm::detail
