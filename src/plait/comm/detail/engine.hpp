// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"
#include "plait/comm/address.hpp"
#include "plait/comm/detail/operation.hpp"
#include "plait/comm/detail/peer.hpp"
#include "plait/comm/matching.hpp"
#include "plait/comm/options.hpp"
#include "plait/comm/status.hpp"
#include "plait/comm/wire.hpp"
#include "plait/net/driver.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::comm::detail {

struct Branch;

/// An active message that waits for its handler.
struct ArrivedActive {
  HandlerId handler;
  Rank source;
  Bytes payload;
};

/// The protocols of an endpoint: what happens when packets come and go.
///
/// engine.cpp has what comes in and completion, outgoing.cpp what goes out, pieces.cpp the transfer of announced data,
/// forwarding.cpp multicast. Threads: one at a time; the endpoint's lock sees to it. Calls nobody: what has completed
/// stands in lists that the endpoint takes.
class Engine {
 public:
  Engine(net::Driver& driver, trace::Recorder& recorder, const EndpointOptions& options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  Engine(Engine&&) = delete;
  Engine& operator=(Engine&&) = delete;
  ~Engine();

  /// The common case: a short message that may leave now needs no operation. Its number in the order; nothing when it
  /// may not.
  [[nodiscard]] std::optional<std::uint32_t> leave_at_once(const Address& to,
                                                           wire::Kind kind,
                                                           std::span<const std::byte> data);
  /// Gives a send its place in the order, and sends it now or when it may.
  void leave(Operation& operation);
  /// Sends `operation` to each of `stops`, whose ranks differ; sequence numbers are set here.
  void multicast(Operation& operation, std::vector<wire::Stop> stops);
  /// Posts a receive, or gives it a message that is here.
  void receive(Operation& operation);
  /// False when it is matched already.
  [[nodiscard]] bool cancel(Operation& operation);
  [[nodiscard]] const Unexpected* probe(const Envelope& envelope);
  /// As `probe`, but taken out, for `receive_claimed` or `drop`.
  [[nodiscard]] std::unique_ptr<Unexpected> claim(const Envelope& envelope);
  void receive_claimed(Operation& operation, std::unique_ptr<Unexpected> message);
  void drop(std::unique_ptr<Unexpected> message);

  /// Looks at the network once. Throws: what the driver throws, and `Error` for packets that make no sense.
  [[nodiscard]] std::size_t poll();
  /// Tells all ranks that the run has failed, as far as the network still carries it.
  void stop_all(const Error& reason);
  void set_failure(const Error& reason);

  [[nodiscard]] bool has_left_all() const;
  /// All but announced messages that nobody has asked for yet.
  [[nodiscard]] bool has_left_what_may() const;
  /// Whether somebody should poll soon: anything is in flight, in either direction.
  [[nodiscard]] bool needs_polls() const {
    return outstanding_ > 0 || is_driver_busy_ || !with_backlog_.empty() || bulk_count_ > 0;
  }
  [[nodiscard]] std::size_t outstanding_count() const { return outstanding_; }
  [[nodiscard]] std::size_t bulk_count() const { return bulk_count_; }
  [[nodiscard]] std::uint64_t packet_count() const { return packet_count_; }
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  [[nodiscard]] std::vector<std::string> never_received() const;
  [[nodiscard]] nanoseconds now_if_tracing() const { return is_tracing_ ? recorder_.now() : nanoseconds{}; }

  /// What has completed, and whose buffer is released, since the last call: linked, oldest first.
  [[nodiscard]] Operation* take_completed() { return std::exchange(completed_.first, nullptr); }
  [[nodiscard]] Operation* take_released() { return std::exchange(released_.first, nullptr); }

  std::deque<ArrivedActive> active;  ///< Wait for their handlers.

 private:
  /// A message as it comes in; what it refers to stands in the packet.
  struct Incoming {
    wire::Header header;
    Rank source;
    Rank via;
    std::span<const std::byte> data;
    std::size_t offered = 0;  ///< Bytes that `via` has, of an announced message.
    std::span<const wire::Stop> stops;
    net::Packet* packet = nullptr;  ///< When the packet holds nothing else.
  };
  /// A piece of an announced message on its way.
  struct Piece {
    Operation* operation = nullptr;
    std::size_t offset = 0;
    std::size_t bytes = 0;
    Bytes copy;  ///< Where the message does not stand together.
  };
  /// What the sender of an announced multicast has told of it, before or after this rank's receive was found.
  struct Offer {
    std::size_t bytes = 0;
    Operation* operation = nullptr;
  };
  struct List {
    Operation* first = nullptr;
    Operation* last = nullptr;
  };
  using WantedPieces = std::multimap<int, std::pair<Operation*, wire::Ready>, std::greater<>>;

  Peer& peer(Rank rank) { return *peers_[rank.value()]; }

  // outgoing.cpp
  [[nodiscard]] bool leaves_with_its_data(const Operation& operation, const Peer& peer) const;
  [[nodiscard]] static std::size_t route_bytes(const Operation& operation);
  void wait_to_leave(Operation& operation);
  void append(net::Packet& packet, const wire::Header& header, std::span<const std::byte> payload);
  void append_message(net::Packet& packet, Operation& operation, bool is_eager);
  [[nodiscard]] wire::Header header_of_next(Operation& operation, bool is_eager);
  void leave_from_backlog();
  bool try_leave_all(Rank rank);
  [[nodiscard]] net::Packet pack(Rank rank);
  void pack_messages(net::Packet& packet, Rank rank);
  [[nodiscard]] bool send_packet(Rank rank, net::Packet&& packet);
  void has_left(Operation& operation, bool is_eager);
  void send_control(Rank to, const wire::Header& header, std::span<const std::byte> payload = {});
  void note_backlog(Rank rank);
  void return_credits();
  void push_out();

  // engine.cpp
  void handle(net::Arrival arrival);
  void handle_control(Rank via, const wire::Header& header, std::span<const std::byte> payload);
  void handle_message(Rank via, const wire::Header& header, std::span<const std::byte> payload, net::Packet* packet);
  [[nodiscard]] Incoming parse(Rank via, const wire::Header& header, std::span<const std::byte> payload) const;
  void deliver(const Incoming& message);
  void deliver_active(const Incoming& message);
  void keep_unexpected(const Incoming& message);
  void give_unexpected(Operation& operation, std::unique_ptr<Unexpected> message);
  [[nodiscard]] static Incoming incoming(const Unexpected& message);
  void forget_memory(const Unexpected& message);
  void give(Operation& operation, const Incoming& message);
  [[nodiscard]] bool make_room(Operation& operation, const wire::Header& header);
  void complete(Operation& operation, std::size_t bytes, std::optional<ErrorCode> error = {});
  void released(Operation& operation);
  void record(const Operation& operation);
  void record_poll_gap();

  // pieces.cpp
  void start_bulk_receive(Operation& operation, const Incoming& message);
  [[nodiscard]] std::size_t next_piece_bytes(const Operation& operation) const;
  void want_pieces(Operation& operation);
  void handle_offer(Rank via, const wire::Header& header);
  void ask_for_pieces();
  [[nodiscard]] bool ask_for_piece(Operation& operation);
  void handle_ready(Rank via, const wire::Header& header, const wire::Ready& ready);
  void send_pieces();
  [[nodiscard]] bool send_piece(Operation& operation, const wire::Ready& ready);
  void bulk_done(const net::BulkDone& done);
  void piece_sent(std::uint64_t cookie);
  void piece_received(std::uint64_t cookie);
  void all_pieces_are_here(Operation& operation);
  [[nodiscard]] std::uint64_t announce(Operation& operation);
  [[nodiscard]] Operation* announced(std::uint64_t number) const;
  void end_announcement(std::uint64_t number);

  // forwarding.cpp
  void forward(Operation& source, const wire::Header& header, Rank origin, std::span<const wire::Stop> stops);
  [[nodiscard]] Operation& make_forward(const wire::Header& header, Rank origin, const Branch& branch);
  void forward_short(const Incoming& message);
  [[nodiscard]] Operation& stage(const Incoming& message);
  void deliver_announced_multicast(Operation& operation, const Incoming& message);
  void more_is_available(Operation& source, std::size_t offset, std::size_t bytes);
  void forward_done(Operation& source, Operation& forward);
  void take_from_staging(Operation& operation, Operation& staging);
  [[nodiscard]] std::size_t stops_max() const;

  net::Driver& driver_;
  trace::Recorder& recorder_;
  trace::ThreadRecorder& trace_;
  const EndpointOptions options_;
  const std::size_t eager_bytes_max_;
  const std::uint32_t credits_of_a_peer_;
  const bool is_tracing_;
  const bool gathers_;

  Matcher matcher_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<Rank> with_backlog_;            ///< Peers for which something waits to leave.
  std::vector<Rank> with_credits_to_return_;  ///< Peers that have not been told yet.
  std::vector<Operation*> announced_;         ///< Sends whose data waits on this rank; null = free.
  std::vector<std::uint32_t> free_announced_;
  std::uint64_t announced_count_ = 0;
  std::map<std::pair<Rank, std::uint64_t>, Offer> offers_;  ///< By holder and its number of the message.
  std::vector<Piece> receiving_;                            ///< By slot.
  std::vector<std::uint32_t> free_slots_;
  std::vector<Piece> sending_;  ///< By cookie.
  std::vector<std::uint32_t> free_cookies_;
  ByTurn wanting_pieces_;       ///< Receives that may ask for another piece.
  std::uint64_t turns_ = 0;     ///< Announced messages whose receive is known.
  WantedPieces wanted_pieces_;  ///< Pieces that receivers have asked for.
  List completed_;
  List released_;
  std::size_t outstanding_ = 0;
  std::size_t bulk_count_ = 0;  ///< Transfers posted to the driver.
  std::uint64_t packet_count_ = 0;
  bool is_driver_busy_ = false;
  std::vector<net::Arrival> arrivals_;
  std::vector<net::BulkDone> bulk_done_;
  nanoseconds last_poll_{};
  std::optional<Error> failure_;
};

}  // namespace plait::comm::detail
