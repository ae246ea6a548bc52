// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/rendezvous_receiver.hpp"

#include <algorithm>
#include <span>

#include "plait/base/error.hpp"

namespace plait::comm::detail {

RendezvousReceiver::RendezvousReceiver(Network& network,
                                       Outbox& outbox,
                                       Completions& completions,
                                       const EndpointOptions& options)
    : network_{network},
      outbox_{outbox},
      completions_{completions},
      segment_bytes_{options.segment_bytes},
      segments_in_flight_{options.segments_in_flight},
      segments_(network.driver().bulk_slot_count()) {
  if (options.segment_bytes == 0 || options.segments_in_flight == 0) {
    throw Error{ErrorCode::bad_argument, "a segment of a message has at least a byte, and at least one is in flight"};
  }
  for (std::uint32_t rank = 0; rank < network.driver().rank_count(); ++rank) {
    peers_.push_back({.bytes_max = network.driver().bulk_in_flight_max(Rank{rank}), .held_back = {}});
  }
  for (std::uint32_t slot = network.driver().bulk_slot_count(); slot-- > 0;) {
    free_slots_.push_back(slot);
  }
}

void RendezvousReceiver::start(Operation& receive, std::uint64_t rts, std::size_t available) {
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

void RendezvousReceiver::refuse(Rank via, std::uint64_t rts) {
  available_.erase({via, rts});
  outbox_.send_control(via, {.kind = wire::ChunkKind::refused, .operation = rts});
}

void RendezvousReceiver::handle_available(Rank via, const wire::Header& header) {
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

/// So that all segments of a message that may be in flight fit into what may be in flight from its peer.
std::size_t RendezvousReceiver::next_bytes(const Operation& receive) const {
  const std::size_t share = peers_[receive.peer.value()].bytes_max / segments_in_flight_;
  return std::min({segment_bytes_, std::max<std::size_t>(share, 1), receive.bytes - receive.next_offset});
}

void RendezvousReceiver::queue(Operation& receive) {
  const std::size_t next = next_bytes(receive);
  if (receive.is_queued || next == 0 || receive.next_offset + next > receive.available ||
      receive.segments_in_flight >= segments_in_flight_) {
    return;
  }
  receive.is_queued = true;
  queue_.emplace(Urgency{receive.priority, receive.arrival}, &receive);
}

void RendezvousReceiver::request_segments() {
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

/// False when the driver is full or has failed.
bool RendezvousReceiver::request_segment(Operation& receive) {
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

RendezvousReceiver::Arrived RendezvousReceiver::segment_arrived(std::uint64_t slot) {
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

}  // namespace plait::comm::detail
