// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/comm/detail/comm_claims.hpp"
#include "plait/comm/detail/completions.hpp"
#include "plait/comm/detail/copies.hpp"
#include "plait/comm/detail/credits.hpp"
#include "plait/comm/detail/delivery.hpp"
#include "plait/comm/detail/handlers.hpp"
#include "plait/comm/detail/inbox.hpp"
#include "plait/comm/detail/incoming.hpp"
#include "plait/comm/detail/message_trace.hpp"
#include "plait/comm/detail/multicast.hpp"
#include "plait/comm/detail/network.hpp"
#include "plait/comm/detail/one_sided.hpp"
#include "plait/comm/detail/outbox.hpp"
#include "plait/comm/detail/rendezvous_receiver.hpp"
#include "plait/comm/detail/rendezvous_sender.hpp"
#include "plait/comm/detail/sequences.hpp"
#include "plait/comm/options.hpp"
#include "plait/comm/wire.hpp"
#include "plait/net/driver.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::comm::detail {

/// The protocols of an endpoint: composes its members and passes them what arrives.
///
/// `Sequences` orders messages, `Delivery` matches them, the rendezvous halves and `Multicast` move large ones,
/// `OneSidedTransfers` places puts and answers gets, `Outbox` sends. Completed operations are in `completions()` and
/// `actives()`. Threads: one at a time, by the endpoint's lock.
class Engine {
 public:
  /// `copies` must outlive it. Throws: `Error` with `bad_argument` for invalid options.
  Engine(net::Driver& driver,
         trace::Recorder& recorder,
         const EndpointOptions& options,
         Activity& activity,
         Copies& copies);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  /// Abandons what is outstanding.
  ~Engine();

  [[nodiscard]] Network& network() noexcept { return network_; }
  [[nodiscard]] Completions& completions() noexcept { return completions_; }
  [[nodiscard]] ArrivedActives& actives() noexcept { return actives_; }
  [[nodiscard]] CommClaims& claims() noexcept { return claims_; }
  [[nodiscard]] Outbox& outbox() noexcept { return outbox_; }
  [[nodiscard]] Inbox& inbox() noexcept { return inbox_; }
  [[nodiscard]] Delivery& delivery() noexcept { return delivery_; }
  [[nodiscard]] Multicast& multicast() noexcept { return multicast_; }
  [[nodiscard]] OneSidedTransfers& one_sided() noexcept { return one_sided_; }

  /// Polls the network once. Throws: what the driver throws, and `Error` for malformed packets.
  [[nodiscard]] std::size_t poll();
  /// Goes on with the segments whose copies have ended. Throws: as `poll`.
  void end_copies(const std::vector<Copies::Ended>& copies);
  /// Reports to all ranks that the run has failed, as far as the network still carries it.
  void stop_all(const Error& reason);
  /// Ends a claim: forgets the order of messages in these communicators.
  void forget_comms(CommId first, std::uint32_t count) noexcept;

  /// Whether everything is sent and flushed.
  [[nodiscard]] bool is_drained() const { return is_flushed() && sender_.is_empty(); }
  /// As `is_drained`, except rendezvous messages that are not cleared to send.
  [[nodiscard]] bool is_flushed() const {
    return outbox_.is_empty() && !sender_.has_backlog() && network_.driver().is_idle();
  }
  /// Whether anything that this rank sends is under way or waits for room.
  [[nodiscard]] bool is_sending() const { return network_.is_busy() || !outbox_.is_empty(); }
  /// One line for each unexpected message of the program.
  [[nodiscard]] std::vector<std::string> never_received() const;

 private:
  /// What a poll may return.
  struct Events {
    std::vector<net::Arrival> arrivals;
    std::vector<net::BulkDone> bulk;
  };

  void handle(net::Arrival& arrival);
  void handle_message(Rank via, const wire::Header& header, std::span<const std::byte> payload, net::Packet* packet);
  void handle_control(Rank via, const wire::Header& header, std::span<const std::byte> payload);
  void handle_bulk(const net::BulkDone& done);
  void handle_segment(const RendezvousReceiver::Arrived& segment);
  void push_out();

  Network network_;
  MessageTrace trace_;
  ArrivedActives actives_;
  Completions completions_;
  Credits credits_;
  Sequences sequences_;
  CommClaims claims_;
  RendezvousSender sender_;
  Outbox outbox_;
  RendezvousReceiver receiver_;
  Multicast multicast_;
  OneSidedTransfers one_sided_;
  Inbox inbox_;
  Delivery delivery_;
  Events events_;
};

}  // namespace plait::comm::detail
