// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/comm/detail/completions.hpp"
#include "plait/comm/detail/message_trace.hpp"
#include "plait/comm/detail/network.hpp"
#include "plait/comm/detail/rts_table.hpp"
#include "plait/comm/wire.hpp"

namespace plait::comm::detail {

/// The sending half of rendezvous: sends a segment for each clear to send, the most urgent message first.
///
/// Never waits for receives of this rank: a flood of them must not keep a send from being posted. Threads: one at a
/// time.
class RendezvousSender {
 public:
  RendezvousSender(Network& network, Completions& completions, MessageTrace& trace)
      : network_{network}, completions_{completions}, trace_{trace} {}

  /// The number of a message whose request to send is about to be sent.
  [[nodiscard]] std::uint64_t add(Operation& send) {
    send.is_rendezvous = true;
    return rts_.add(send);
  }
  /// The receiver on `via` has posted a slot for a segment. Throws: `Error` with `network` when it was not offered one.
  void handle_cts(Rank via, const wire::Header& header, const wire::Cts& cts);
  /// The receiver does not want the data.
  void handle_refused(const wire::Header& header);
  /// Sends the segments that receivers wait for, as far as the driver takes them.
  void send_segments();
  void segment_sent(std::uint64_t cookie);

  /// Whether a receiver waits for a segment.
  [[nodiscard]] bool has_backlog() const noexcept { return !backlog_.empty(); }
  /// Whether the data of all messages has been sent or refused.
  [[nodiscard]] bool is_empty() const noexcept { return rts_.is_empty(); }
  template <class Visit>
  void for_each(Visit visit) const {
    rts_.for_each(visit);
  }

 private:
  /// A segment on its way.
  struct Segment {
    Operation* send = nullptr;
    std::size_t bytes = 0;
    Bytes copy;  ///< Where the message is not contiguous.
  };
  [[nodiscard]] bool send_segment(Operation& send, const wire::Cts& cts);

  Network& network_;
  Completions& completions_;
  MessageTrace& trace_;
  RtsTable rts_;
  std::multimap<int, std::pair<Operation*, wire::Cts>, std::greater<>> backlog_;  ///< By priority.
  std::vector<Segment> segments_;                                                 ///< By cookie.
  std::vector<std::uint32_t> free_cookies_;
};

}  // namespace plait::comm::detail
