// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/clock.hpp"
#include "plait/comm/matching.hpp"
#include "plait/comm/packing.hpp"
#include "plait/comm/wire.hpp"
#include "plait/net/packet.hpp"

namespace plait::comm::detail {

struct Operation;

/// The order in which receives get pieces: the most urgent first, then the oldest.
struct Turn {
  int priority = 0;
  std::uint64_t number = 0;

  friend bool operator<(const Turn& one, const Turn& other) {
    return one.priority != other.priority ? one.priority > other.priority : one.number < other.number;
  }
};
using ByTurn = std::map<Turn, Operation*>;

/// A chunk of a packet, with its payload in memory of its own.
struct Chunk {
  wire::Header header;
  Bytes payload;
  Rank via;  ///< Which rank the packet came from; else unused.
};

/// The order of messages from and to one peer in one communicator.
struct Stream {
  CommId comm;
  std::uint32_t next_sent = 0;
  std::uint32_t next_received = 0;
  std::map<std::uint32_t, Chunk> early;  ///< Messages that overtook others, by sequence number.
};

/// What an endpoint knows of one peer.
struct Peer {
  std::uint32_t credits = 0;            ///< Packets with messages that may still be sent to it.
  std::uint32_t credits_to_return = 0;  ///< Such packets of it that were taken since it was last told.
  bool may_only_announce = false;       ///< It asked so.
  bool was_told_to_announce = false;
  bool is_in_backlog_list = false;
  bool is_in_credit_list = false;
  std::size_t unexpected_bytes = 0;
  net::Packet refused;               ///< Built, but the driver was full; goes first.
  std::deque<Chunk> control;         ///< Goes before messages.
  std::unique_ptr<Packing> waiting;  ///< Messages that wait for a credit, the link or the driver.
  std::vector<Stream> streams;       ///< One a communicator; few.
  std::size_t bulk_bytes = 0;        ///< Of pieces that it was asked for and that have not come.
  std::size_t bulk_bytes_max = 0;
  ByTurn held_back;  ///< Receives that want pieces of it and have to wait for those.

  Stream& stream(CommId comm) {
    for (Stream& known : streams) {
      if (known.comm == comm) {
        return known;
      }
    }
    return streams.emplace_back(Stream{comm, 0, 0, {}});
  }
  [[nodiscard]] bool has_backlog() const { return refused || !control.empty() || !waiting->is_empty(); }
};

/// A message that came before its receive.
struct Unexpected : UnexpectedMessage {
  wire::Header header;
  Rank via;                       ///< Who holds the data of an announced one,
  std::size_t offered = 0;        ///< and how much of it.
  Bytes data;                     ///< Of one that was copied out of its packet;
  net::Packet packet;             ///< else the packet itself, which holds nothing else.
  std::vector<wire::Stop> stops;  ///< Of a multicast: where it still has to be passed on to.
  Operation* staging = nullptr;   ///< Of a multicast that is passed on already: the receive that holds the data.
  std::size_t memory_bytes = 0;   ///< What it takes, as counted against its source.
  nanoseconds arrived{};
};

}  // namespace plait::comm::detail
