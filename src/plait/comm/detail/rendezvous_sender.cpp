// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/rendezvous_sender.hpp"

#include <span>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::comm::detail {

void RendezvousSender::handle_cts(Rank via, const wire::Header& header, const wire::Cts& cts) {
  Operation* const send = rts_.find(header.operation);
  if (send == nullptr || send->peer != via || cts.offset + cts.bytes > send->bytes ||
      (&send->holder() != send && cts.offset + cts.bytes > send->holder().forwarding->available)) {
    throw Error{
        ErrorCode::network,
        fmt::format("rank {} requests data that it was not offered: do all ranks run the same version of plait?",
                    via.value()),
        via};
  }
  backlog_.emplace(send->priority, std::pair{send, cts});
  send_segments();
}

void RendezvousSender::handle_refused(const wire::Header& header) {
  Operation* const send = rts_.find(header.operation);
  expect(send != nullptr, "only what was offered is refused");
  rts_.end(header.operation);
  completions_.complete(*send, send->bytes);
}

void RendezvousSender::send_segments() {
  while (!backlog_.empty()) {
    const auto& [send, cts] = backlog_.begin()->second;
    if (!send_segment(*send, cts)) {
      return;
    }
    backlog_.erase(backlog_.begin());
  }
}

/// False when the driver is full or has failed.
bool RendezvousSender::send_segment(Operation& send, const wire::Cts& cts) {
  if (free_cookies_.empty()) {
    free_cookies_.push_back(static_cast<std::uint32_t>(segments_.size()));
    segments_.emplace_back();
  }
  const std::uint32_t cookie = free_cookies_.back();
  Segment& segment = segments_[cookie];
  const Operation& holder = send.holder();
  std::span<const std::byte> memory = holder.contiguous(cts.offset, cts.bytes);
  if (memory.empty()) {
    segment.copy.resize(cts.bytes);
    holder.gather(cts.offset, segment.copy);
    memory = segment.copy;
  }
  if (!network_.send_bulk({send.peer, net::BulkSlot{static_cast<std::uint32_t>(cts.slot)}, memory, cookie})) {
    return false;
  }
  free_cookies_.pop_back();
  segment.send = &send;
  segment.bytes = cts.bytes;
  return true;
}

void RendezvousSender::segment_sent(std::uint64_t cookie) {
  Segment& segment = segments_.at(cookie);
  Operation& send = *std::exchange(segment.send, nullptr);
  segment.copy = {};
  free_cookies_.push_back(static_cast<std::uint32_t>(cookie));
  send.bytes_moved += segment.bytes;
  if (send.bytes_moved == send.bytes) {
    rts_.end(send.rts);
    send.moved = trace_.now();
    completions_.complete(send, send.bytes);
  }
}

}  // namespace plait::comm::detail
