// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/comm/detail/completions.hpp"
#include "plait/comm/detail/network.hpp"
#include "plait/comm/detail/operation.hpp"
#include "plait/comm/detail/outbox.hpp"
#include "plait/comm/options.hpp"
#include "plait/comm/wire.hpp"

namespace plait::comm::detail {

/// The receiving half of rendezvous: posts a bulk slot for one segment after the other, and clears the sender to send
/// it.
///
/// The most urgent receive gets slots first, of equally urgent ones the oldest, so that what has started ends soon.
/// From one peer no more is in flight than the driver advises. Threads: one at a time.
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
  RendezvousReceiver(Network& network, Outbox& outbox, Completions& completions, const EndpointOptions& options);

  /// Receives the message with the sender's number `rts`, of which the sender has `available` bytes.
  void start(Operation& receive, std::uint64_t rts, std::size_t available);
  /// Notifies the sender that its data is not wanted.
  void refuse(Rank via, std::uint64_t rts);
  /// The sender of a multicast has more of it than before. Nothing is requested before it is there: slots would be
  /// taken by segments that wait for each other.
  void handle_available(Rank via, const wire::Header& header);
  [[nodiscard]] Arrived segment_arrived(std::uint64_t slot);
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

  [[nodiscard]] std::size_t next_bytes(const Operation& receive) const;
  [[nodiscard]] bool request_segment(Operation& receive);

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
