// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plait/comm/address.hpp"
#include "plait/comm/detail/comm_claims.hpp"
#include "plait/comm/detail/completions.hpp"
#include "plait/comm/detail/credits.hpp"
#include "plait/comm/detail/message_trace.hpp"
#include "plait/comm/detail/network.hpp"
#include "plait/comm/detail/operation.hpp"
#include "plait/comm/detail/peer_table.hpp"
#include "plait/comm/detail/rendezvous_sender.hpp"
#include "plait/comm/detail/sequences.hpp"
#include "plait/comm/options.hpp"
#include "plait/comm/packing.hpp"
#include "plait/comm/wire.hpp"

namespace plait::comm::detail {

/// Sends messages and control in packets.
///
/// A message is sent at once when the link to the peer is idle and has credits. Otherwise it waits, and the packing
/// strategy chooses the messages of the next packet, after control. A refused packet is sent first. Threads: one at a
/// time.
class Outbox {
 public:
  /// The other members of the engine that an outbox uses; all must outlive it.
  struct Uses {
    Network& network;
    MessageTrace& trace;
    Completions& completions;
    Credits& credits;
    Sequences& sequences;
    RendezvousSender& rendezvous;
    const CommClaims& claims;
  };
  /// Throws: `Error` with `bad_argument` for an unknown packing strategy.
  Outbox(const Uses& uses, const EndpointOptions& options);

  /// Sends an eager message without an operation, and sets what is missing in its header: sequence number, length of
  /// the payload, credits. False when it may not be sent now.
  [[nodiscard]] bool send_now(Rank to, wire::Header& header, std::span<const std::byte> data);
  /// Starts `send` with the next sequence number, and sends it now or when it may be sent.
  void send(Operation& send);
  /// Sends a message that has its sequence number, now or when it may be sent.
  void enqueue(Operation& send);
  void send_control(Rank to, const wire::Header& header, std::span<const std::byte> payload = {});
  /// Sends what waits and may be sent now.
  void flush();
  void return_credits();
  /// Whether a message of `bytes` to `peer` is to be eager if it does not fit into a packet.
  [[nodiscard]] bool allows_eager(Rank to, std::size_t bytes) {
    return bytes <= eager_bytes_max_ && !peer(to).is_rendezvous_only;
  }
  /// Whether `peer` takes requests to send only.
  void set_rendezvous_only(Rank peer, bool is_on) { peers_[peer].is_rendezvous_only = is_on; }

  [[nodiscard]] bool is_empty() const noexcept { return with_backlog_.empty(); }
  /// Takes out the messages that wait, and calls `visit` with each.
  template <class Visit>
  void take_all(Visit visit) {
    peers_.for_each([&visit](Peer& peer) {
      for (; peer.backlog != nullptr && !peer.backlog->messages->is_empty(); peer.backlog->messages->pop()) {
        visit(static_cast<Operation*>(peer.backlog->messages->front(0)));
      }
    });
  }

 private:
  /// What waits for a peer.
  struct Backlog {
    net::Packet refused;                ///< Complete, but the driver was full; goes first.
    std::deque<Chunk> control;          ///< Goes before messages.
    std::unique_ptr<Packing> messages;  ///< They wait for a credit, the network or the driver.

    [[nodiscard]] bool is_empty() const { return !refused && control.empty() && messages->is_empty(); }
  };
  struct Peer {
    bool is_rendezvous_only = false;
    bool is_listed = false;            ///< In `with_backlog_`: true while it has any.
    std::size_t copied_bytes_max = 0;  ///< As `Driver::copied_bytes_max`.
    std::unique_ptr<Backlog> backlog;  ///< From the first time that something cannot be sent at once.
  };

  [[nodiscard]] Peer& peer(Rank rank) { return peers_[rank]; }
  [[nodiscard]] Backlog& backlog(Rank rank);
  [[nodiscard]] bool is_eager(const Operation& send, const Peer& receiver) const;
  [[nodiscard]] bool try_flush(Rank rank);
  void flush_or_list(Rank rank);
  /// The next message, if it is an eager one that is too long for a packet and no control goes before it; else null.
  [[nodiscard]] Operation* next_long(const Peer& receiver) const;
  [[nodiscard]] bool send_long(Rank rank, Operation& send);
  void note_handed(Operation& send, bool is_eager);
  [[nodiscard]] net::Packet pack(Rank rank);
  void pack_messages(net::Packet& packet, Rank rank);
  void append_message(net::Packet& packet, Operation& send, bool is_eager);
  [[nodiscard]] wire::Header header_of(Operation& send, bool is_eager);
  [[nodiscard]] bool send_packet(Rank rank, net::Packet& packet);
  void keep_refused(Rank rank, net::Packet& packet);

  const Uses uses_;
  const std::size_t packet_bytes_max_;
  const std::size_t eager_bytes_max_;
  const std::string packing_;
  const bool gathers_;
  PeerTable<Peer> peers_;
  std::vector<Rank> with_backlog_;
  Bytes gathered_;  ///< A long non-contiguous message, while it is sent.
};

/// Appends a chunk to `packet`, and returns where its payload begins: `payload` bytes, to be written by the caller.
[[nodiscard]] std::byte* append_chunk(net::Packet& packet, const wire::Header& header);

}  // namespace plait::comm::detail
