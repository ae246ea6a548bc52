// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/clock.hpp"
#include "plait/comm/matching.hpp"
#include "plait/comm/wire.hpp"
#include "plait/net/packet.hpp"

namespace plait::comm::detail {

struct Operation;

/// The order of messages from and to one peer in one communicator.
struct Stream {
  CommId comm;
  std::uint32_t next_sent = 0;
  std::uint32_t next_received = 0;
  std::map<std::uint32_t, net::Packet> early;  ///< Packets that overtook others, by sequence number.
};

/// What an endpoint knows of one peer.
struct Peer {
  std::uint32_t credits = 0;            ///< Sequenced packets that may still be sent to it.
  std::uint32_t credits_to_return = 0;  ///< Packets of it that were taken since it was last told.
  bool may_only_announce = false;       ///< It asked so.
  bool was_told_to_announce = false;
  bool is_in_backlog_list = false;
  bool is_in_credit_list = false;
  std::size_t unexpected_bytes = 0;
  std::deque<net::Packet> control_backlog;
  std::deque<Operation*> backlog;  ///< Sends that wait for a credit or for the driver, in order.
  std::vector<Stream> streams;     ///< One a communicator; few.

  Stream& stream(CommId comm) {
    for (Stream& known : streams) {
      if (known.comm == comm) {
        return known;
      }
    }
    return streams.emplace_back(Stream{comm, 0, 0, {}});
  }
};

/// A message that came before its receive.
struct Unexpected : UnexpectedMessage {
  wire::Header header;
  Bytes data;          ///< Of a short one that was copied out of its packet;
  net::Packet packet;  ///< else the packet itself.
  nanoseconds arrived{};

  [[nodiscard]] std::size_t memory_bytes() const { return data.size() + packet.capacity(); }
};

}  // namespace plait::comm::detail
