// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"
#include "plait/comm/detail/completions.hpp"
#include "plait/comm/detail/incoming.hpp"
#include "plait/comm/detail/message_trace.hpp"
#include "plait/comm/detail/network.hpp"
#include "plait/comm/detail/operation.hpp"
#include "plait/comm/detail/rts_table.hpp"
#include "plait/comm/wire.hpp"

namespace plait::comm::detail {

/// The sending half of rendezvous: sends a segment for each clear to send, the most urgent message first. It does not
/// depend on receives of this rank. Threads: one at a time.
class RendezvousSender {
 public:
  RendezvousSender(Network& network, Completions& completions, MessageTrace& trace)
      : network_{network}, completions_{completions}, trace_{trace} {}

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

  /// Sends the segments that receivers wait for, as far as the driver takes them.
  void send_segments() {
    while (!backlog_.empty()) {
      const auto& [send, cts] = backlog_.begin()->second;
      if (!send_segment(*send, cts)) {
        return;
      }
      backlog_.erase(backlog_.begin());
    }
  }

  void segment_sent(std::uint64_t cookie) {
    Segment& segment = segments_.at(cookie);
    Operation& send = *std::exchange(segment.send, nullptr);
    segment.copy = {};
    free_cookies_.push_back(static_cast<std::uint32_t>(cookie));
    send.bytes_moved += segment.bytes;
    if (send.bytes_moved == send.bytes) {
      send.moved = trace_.now();
      end_if_over(send);
    }
  }

  /// Whether a receiver waits for a segment.
  [[nodiscard]] bool has_backlog() const noexcept { return !backlog_.empty(); }
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

  /// A segment on its way.
  struct Segment {
    Operation* send = nullptr;
    std::size_t bytes = 0;
    Bytes copy;  ///< Where the message is not contiguous.
  };

  /// False when the driver is full or has failed.
  [[nodiscard]] bool send_segment(Operation& send, const wire::Cts& cts) {
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

  Network& network_;
  Completions& completions_;
  MessageTrace& trace_;
  RtsTable rts_;
  std::multimap<int, std::pair<Operation*, wire::Cts>, std::greater<>> backlog_;  ///< By priority.
  std::vector<Segment> segments_;                                                 ///< By cookie.
  std::vector<std::uint32_t> free_cookies_;
};

}  // namespace plait::comm::detail
