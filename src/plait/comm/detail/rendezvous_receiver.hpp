// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"
#include "plait/comm/detail/completions.hpp"
#include "plait/comm/detail/copies.hpp"
#include "plait/comm/detail/network.hpp"
#include "plait/comm/detail/operation.hpp"
#include "plait/comm/detail/outbox.hpp"
#include "plait/comm/detail/peer_table.hpp"
#include "plait/comm/detail/staging.hpp"
#include "plait/comm/options.hpp"
#include "plait/comm/wire.hpp"

namespace plait::comm::detail {

/// The receiving half of rendezvous: posts a bulk slot for each segment, and clears the sender to send it.
///
/// The most urgent receive gets slots first; of equal ones the oldest, so that it completes soon. Not more is in flight
/// from a peer than the driver advises. Where the buffer is not contiguous, segments are unpacked into it. Threads: one
/// at a time.
class RendezvousReceiver {
 public:
  /// A segment that is in its buffer.
  struct Arrived {
    Operation& receive;
    std::size_t offset = 0;
    std::size_t bytes = 0;
    bool is_last = false;  ///< All of the message is here now.
  };

  /// All but the options must outlive it.
  RendezvousReceiver(
      Network& network, Outbox& outbox, Completions& completions, Copies& copies, const EndpointOptions& options)
      : network_{network},
        outbox_{outbox},
        completions_{completions},
        copies_{copies},
        staging_{staging_of(options)},
        segment_bytes_{options.segment_bytes},
        segments_in_flight_{options.segments_in_flight},
        peers_{network.driver().rank_count(),
               [&network](Rank rank) {
                 return Peer{.bytes_max = network.driver().bulk_in_flight_max(rank), .held_back = {}};
               }},
        segments_(network.driver().bulk_slot_count()) {
    require(options.segment_bytes > 0 && options.segments_in_flight > 0,
            "segment_bytes and segments_in_flight must be at least 1");
    for (std::uint32_t slot = network.driver().bulk_slot_count(); slot-- > 0;) {
      free_slots_.push_back(slot);
    }
  }

  RendezvousReceiver(const RendezvousReceiver&) = delete;
  RendezvousReceiver& operator=(const RendezvousReceiver&) = delete;
  ~RendezvousReceiver() { keep_in_flight(segments_, network_.driver()); }

  /// Receives the message with the sender's number `rts`, of which the sender has `available` bytes.
  void start(Operation& receive, std::uint64_t rts, std::size_t available);

  /// Notifies the sender that its data is not wanted.
  void refuse(Rank via, std::uint64_t rts) {
    available_.erase({via, rts});
    outbox_.send_control(via, {.kind = wire::ChunkKind::refused, .operation = rts});
  }

  /// The sender of a multicast has more of its data. No segment is requested earlier: slots would deadlock.
  void handle_available(Rank via, const wire::Header& header);

  /// The segment has arrived. Nothing while it is being unpacked: `segment_unpacked` follows.
  [[nodiscard]] std::optional<Arrived> segment_arrived(std::uint64_t slot);
  [[nodiscard]] Arrived segment_unpacked(std::uint64_t slot);

  /// Queues `receive` when it may request another segment.
  void queue(Operation& receive);

  /// Requests segments for queued receives, as long as there are slots.
  void request_segments();

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
    for (const auto& [place, receive] : without_memory_) {
      visit(receive);
    }
    peers_.for_each([&visit](const Peer& peer) {
      for (const auto& [place, receive] : peer.held_back) {
        visit(receive);
      }
    });
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
  [[nodiscard]] std::size_t next_bytes(const Operation& receive) {
    const std::size_t share = peers_[receive.peer].bytes_max / segments_in_flight_;
    return std::min({segment_bytes_, std::max<std::size_t>(share, 1), receive.bytes - receive.next_offset});
  }

  /// Requests the next segment into `memory`, or into memory to unpack it from if that is empty. False when the driver
  /// is full or has failed.
  [[nodiscard]] bool request_segment(Operation& receive, std::span<std::byte> memory);

  Network& network_;
  Outbox& outbox_;
  Completions& completions_;
  Copies& copies_;
  Staging staging_;
  const std::size_t segment_bytes_;
  const std::uint32_t segments_in_flight_;
  Queue queue_;           ///< Receives that may request a segment.
  Queue without_memory_;  ///< Receives that wait for memory to unpack a segment from.
  std::uint64_t arrivals_ = 0;
  std::map<std::pair<Rank, std::uint64_t>, Available> available_;  ///< By sender and its number of the message.
  PeerTable<Peer> peers_;
  std::vector<Segment> segments_;  ///< By slot.
  std::vector<std::uint32_t> free_slots_;
};

}  // namespace plait::comm::detail
