// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/id.hpp"
#include "plait/comm/detail/peer_table.hpp"
#include "plait/comm/status.hpp"
#include "plait/comm/wire.hpp"

namespace plait::comm::detail {

/// A chunk of a packet, with its payload in memory of its own.
struct Chunk {
  wire::Header header;
  Bytes payload;
  Rank via;  ///< The rank that the packet came from; else unused.
};

/// The order of messages from and to one peer in one communicator.
struct Stream {
  CommId comm;
  std::uint32_t next_sent = 0;
  std::uint32_t next_received = 0;
  std::map<std::uint32_t, Chunk> early;  ///< Messages that overtook others, by sequence number.

  /// Whether an early message is next in order now.
  [[nodiscard]] bool has_next() const { return !early.empty() && early.begin()->first == next_received; }
  /// Takes it out. Expects: `has_next()`.
  [[nodiscard]] Chunk take_next() {
    ++next_received;
    return std::move(early.extract(early.begin()).mapped());
  }
};

/// Sequence numbers of messages for each (peer, communicator). Threads: one at a time. Cost: constant for the
/// communicator used last, else linear in those used with the peer.
class Sequences {
 public:
  explicit Sequences(std::uint32_t peer_count) : peers_{peer_count, [](Rank) { return Peer{}; }} {}

  [[nodiscard]] Stream& stream(Rank peer, CommId comm) {
    Peer& with = peers_[peer];
    if (with.last < with.streams.size() && with.streams[with.last].comm == comm) {
      return with.streams[with.last];
    }
    for (with.last = 0; with.last < with.streams.size(); ++with.last) {
      if (with.streams[with.last].comm == comm) {
        return with.streams[with.last];
      }
    }
    return with.streams.emplace_back(Stream{.comm = comm, .early = {}});
  }
  [[nodiscard]] std::uint32_t next_sent(Rank to, CommId comm) { return stream(to, comm).next_sent++; }

  /// Forgets the streams of `count` communicators from `first` on, and of their collective operations.
  void forget(CommId first, std::uint32_t count) noexcept {
    peers_.for_each([&](Peer& peer) {
      std::erase_if(peer.streams, [&](const Stream& stream) {
        return (stream.comm.value() & ~collective_bit) - first.value() < count;
      });
    });
  }

 private:
  struct Peer {
    std::vector<Stream> streams;
    std::size_t last = 0;  ///< The one used last.
  };

  PeerTable<Peer> peers_;
};

}  // namespace plait::comm::detail
