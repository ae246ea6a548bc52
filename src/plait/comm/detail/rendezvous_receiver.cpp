// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/rendezvous_receiver.hpp"

namespace plait::comm::detail {

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

std::optional<RendezvousReceiver::Arrived> RendezvousReceiver::segment_arrived(std::uint64_t slot) {
  Segment& segment = segments_.at(slot);
  if (!segment.copy.empty() && !copies_.copy({.direction = CopyDirection::unpack,
                                              .memory = segment.receive,
                                              .offset = segment.offset,
                                              .packed = std::span{segment.copy}.first(segment.bytes),
                                              .cookie = slot})) {
    return {};
  }
  return segment_unpacked(slot);
}

RendezvousReceiver::Arrived RendezvousReceiver::segment_unpacked(std::uint64_t slot) {
  Segment& segment = segments_[slot];
  Operation& receive = *std::exchange(segment.receive, nullptr);
  free_slots_.push_back(static_cast<std::uint32_t>(slot));
  if (!segment.copy.empty()) {
    staging_.put(std::exchange(segment.copy, {}));
    queue_.merge(without_memory_);
  }
  receive.bytes_moved += segment.bytes;
  --receive.segments_in_flight;
  Peer& from = peers_[receive.peer];
  from.bytes -= segment.bytes;
  if (!from.held_back.empty()) {
    queue_.insert(from.held_back.extract(from.held_back.begin()));
  }
  return {receive, segment.offset, segment.bytes, receive.bytes_moved == receive.bytes};
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
    Peer& from = peers_[receive.peer];
    if (from.bytes > 0 && from.bytes + next_bytes(receive) > from.bytes_max) {
      from.held_back.insert(queue_.extract(queue_.begin()));
      continue;
    }
    const std::span<std::byte> memory = receive.contiguous(receive.next_offset, next_bytes(receive));
    if (memory.empty() && !staging_.has_room(next_bytes(receive))) {
      without_memory_.insert(queue_.extract(queue_.begin()));
      continue;
    }
    if (!request_segment(receive, memory)) {
      return;
    }
    queue_.erase(queue_.begin());
    receive.is_queued = false;
    queue(receive);
  }
}

bool RendezvousReceiver::request_segment(Operation& receive, std::span<std::byte> memory) {
  const std::uint32_t slot = free_slots_.back();
  Segment& segment = segments_[slot];
  const std::size_t bytes = next_bytes(receive);
  if (memory.empty()) {
    segment.copy = staging_.take(bytes);
    memory = std::span{segment.copy}.first(bytes);
  }
  if (!network_.receive_bulk({receive.peer, net::BulkSlot{slot}, memory, slot})) {
    if (!segment.copy.empty()) {
      staging_.put(std::exchange(segment.copy, {}));
    }
    return false;
  }
  free_slots_.pop_back();
  segment.receive = &receive;
  segment.offset = receive.next_offset;
  segment.bytes = bytes;
  const wire::Cts cts{.offset = receive.next_offset, .bytes = bytes, .slot = slot};
  receive.next_offset += bytes;
  ++receive.segments_in_flight;
  peers_[receive.peer].bytes += bytes;
  outbox_.send_control(
      receive.peer, {.kind = wire::ChunkKind::cts, .operation = receive.rts}, std::as_bytes(std::span{&cts, 1}));
  return true;
}

}  // namespace plait::comm::detail
