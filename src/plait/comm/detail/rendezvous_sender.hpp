// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"
#include "plait/comm/detail/completions.hpp"
#include "plait/comm/detail/copies.hpp"
#include "plait/comm/detail/incoming.hpp"
#include "plait/comm/detail/message_trace.hpp"
#include "plait/comm/detail/network.hpp"
#include "plait/comm/detail/operation.hpp"
#include "plait/comm/detail/rts_table.hpp"
#include "plait/comm/detail/staging.hpp"
#include "plait/comm/wire.hpp"

namespace plait::comm::detail {

/// The sending half of rendezvous: sends a segment for each clear to send, the most urgent message first. It does not
/// depend on receives of this rank. Segments that are not contiguous are packed first. Threads: one at a time.
class RendezvousSender {
 public:
  /// All but the options must outlive it.
  RendezvousSender(
      Network& network, Completions& completions, MessageTrace& trace, Copies& copies, const EndpointOptions& options)
      : network_{network}, completions_{completions}, trace_{trace}, copies_{copies}, staging_{staging_of(options)} {}

  RendezvousSender(const RendezvousSender&) = delete;
  RendezvousSender& operator=(const RendezvousSender&) = delete;
  ~RendezvousSender() { keep_in_flight(segments_, network_.driver()); }

  /// The number of a message whose request to send, or whose data with a request to acknowledge it, is about to be
  /// sent.
  [[nodiscard]] std::uint64_t add(Operation& send) {
    send.is_rendezvous = true;
    return rts_.add(send);
  }

  /// The receiver on `via` has posted a slot for a segment. Throws: `Error` with `network` when it was not offered one.
  void handle_cts(Rank via, const wire::Header& header, const wire::Cts& cts) {
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

  /// The receiver does not want the data.
  void handle_refused(const wire::Header& header) {
    Operation* const send = rts_.find(header.operation);
    expect(send != nullptr, "only what was offered is refused");
    rts_.end(header.operation);
    completions_.complete(*send, send->bytes);
  }

  /// The data of a synchronous put is in place on `via`. Throws: `Error` with `network` when there is no such put.
  void handle_placed(Rank via, const wire::Header& header) {
    Operation* const send = rts_.find(header.operation);
    if (send == nullptr || send->peer != via || send->one_sided != OneSided::put || !send->is_synchronous) {
      refuse_packet(via, sizeof header);
    }
    send->is_placed = true;
    end_if_over(*send);
  }

  /// Sends the segments that receivers wait for, as far as the driver takes them and there is memory to pack them.
  void send_segments() {
    while (send_packed() && !backlog_.empty()) {
      const auto& [send, cts] = backlog_.begin()->second;
      if (!start_segment(*send, cts)) {
        return;
      }
      backlog_.erase(backlog_.begin());
    }
  }

  /// The segment may be sent now.
  void segment_packed(std::uint64_t cookie) {
    --packing_;
    packed_.push_back(static_cast<std::uint32_t>(cookie));
    send_segments();
  }

  void segment_sent(std::uint64_t cookie) {
    Segment& segment = segments_.at(cookie);
    Operation& send = *std::exchange(segment.send, nullptr);
    if (!segment.copy.empty()) {
      staging_.put(std::exchange(segment.copy, {}));
    }
    free_cookies_.push_back(static_cast<std::uint32_t>(cookie));
    send.bytes_moved += segment.cts.bytes;
    if (send.bytes_moved == send.bytes) {
      send.moved = trace_.now();
      end_if_over(send);
    }
  }

  /// Whether a receiver waits for a segment.
  [[nodiscard]] bool has_backlog() const noexcept { return !backlog_.empty() || !packed_.empty() || packing_ > 0; }
  /// Whether the data of all messages has been sent or refused.
  [[nodiscard]] bool is_empty() const noexcept { return rts_.is_empty(); }
  template <class Visit>
  void for_each(Visit visit) const {
    rts_.for_each(visit);
  }

 private:
  /// Completes `send` when all of its data is sent and, of a synchronous put, in place: the driver may report either
  /// first.
  void end_if_over(Operation& send) {
    const bool waits = send.one_sided == OneSided::put && send.is_synchronous && !send.is_placed;
    if (!waits && send.bytes_moved == send.bytes) {
      rts_.end(send.rts);
      completions_.complete(send, send.bytes);
    }
  }

  /// A segment that is being packed, is packed, or is on its way.
  struct Segment {
    Operation* send = nullptr;
    wire::Cts cts;
    Bytes copy;  ///< Where the message is not contiguous.
  };

  /// False when the driver is full or has failed, or when there is no memory to pack it.
  [[nodiscard]] bool start_segment(Operation& send, const wire::Cts& cts) {
    const Operation& holder = send.holder();
    const std::span<const std::byte> memory = holder.contiguous(cts.offset, cts.bytes);
    if (memory.empty() && !staging_.has_room(cts.bytes)) {
      return false;
    }
    if (free_cookies_.empty()) {
      free_cookies_.push_back(static_cast<std::uint32_t>(segments_.size()));
      segments_.emplace_back();
    }
    const std::uint32_t cookie = free_cookies_.back();
    Segment& segment = segments_[cookie];
    segment.cts = cts;
    if (!memory.empty() && !post(send, cookie, memory)) {
      return false;
    }
    free_cookies_.pop_back();
    segment.send = &send;
    if (memory.empty()) {
      segment.copy = staging_.take(cts.bytes);
      pack(segment, holder, cookie);
    }
    return true;
  }

  void pack(Segment& segment, const Operation& holder, std::uint32_t cookie) {
    if (copies_.copy({.direction = CopyDirection::pack,
                      .memory = &holder,
                      .offset = segment.cts.offset,
                      .packed = std::span{segment.copy}.first(segment.cts.bytes),
                      .cookie = cookie})) {
      packed_.push_back(cookie);
    } else {
      ++packing_;
    }
  }

  /// Sends the segments that are packed. False when the driver is full or has failed.
  [[nodiscard]] bool send_packed() {
    while (!packed_.empty()) {
      const Segment& segment = segments_[packed_.front()];
      if (!post(*segment.send, packed_.front(), std::span{segment.copy}.first(segment.cts.bytes))) {
        return false;
      }
      packed_.pop_front();
    }
    return true;
  }

  [[nodiscard]] bool post(const Operation& send, std::uint32_t cookie, std::span<const std::byte> memory) {
    const net::BulkSlot slot{static_cast<std::uint32_t>(segments_[cookie].cts.slot)};
    return network_.send_bulk({send.peer, slot, memory, cookie});
  }

  Network& network_;
  Completions& completions_;
  MessageTrace& trace_;
  Copies& copies_;
  Staging staging_;
  RtsTable rts_;
  std::multimap<int, std::pair<Operation*, wire::Cts>, std::greater<>> backlog_;  ///< By priority.
  std::deque<std::uint32_t> packed_;                                              ///< Cookies of packed segments.
  std::size_t packing_ = 0;                                                       ///< Segments being packed.
  std::vector<Segment> segments_;                                                 ///< By cookie.
  std::vector<std::uint32_t> free_cookies_;
};

}  // namespace plait::comm::detail
