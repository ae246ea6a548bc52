// SPDX-License-Identifier: Apache-2.0
// What happens in an endpoint when packets come and go: credits, eager and announced messages, bulk transfers. All with
// the lock held.
#include <cstring>

#include <fmt/format.h>

#include "plait/comm/detail/operation.hpp"
#include "plait/comm/detail/peer.hpp"
#include "plait/comm/endpoint.hpp"

namespace plait::comm {

namespace {

wire::Header header_of(const net::Packet& packet) {
  wire::Header header;
  std::memcpy(&header, packet.data(), sizeof header);
  return header;
}

std::span<const std::byte> data_of(const net::Packet& packet) {
  return packet.bytes().subspan(sizeof(wire::Header));
}

void fill(net::Packet& packet, const wire::Header& header, std::span<const std::byte> data) {
  packet.resize(sizeof header + data.size());
  std::memcpy(packet.data(), &header, sizeof header);
  if (!data.empty()) {
    std::memcpy(packet.data() + sizeof header, data.data(), data.size());
  }
}

}  // namespace

// ---- going out ----

bool Endpoint::leaves_with_its_data(std::size_t bytes, const detail::Peer& peer) const {
  return bytes <= eager_bytes_max_ && (!peer.may_only_announce || bytes == 0);
}

/// The common case: a short message that may leave now needs no operation.
std::optional<Status> Endpoint::leave_at_once(const Address& to, wire::Kind kind, std::span<const std::byte> data) {
  detail::Peer& peer = *peers_[to.rank.value()];
  if (!peer.backlog.empty() || !leaves_with_its_data(data.size(), peer)) {
    return {};
  }
  const nanoseconds posted = now_if_tracing();
  std::uint32_t& next = peer.stream(to.comm).next_sent;
  wire::Header header{
      .kind = kind, .comm = to.comm.value(), .sequence = next, .tag = to.tag.value(), .bytes = data.size()};
  if (!try_packet(to.rank, header, data)) {
    return {};
  }
  if (is_tracing_) {
    const nanoseconds now = recorder_.now();
    trace_.message({.direction = trace::MessageDirection::sent,
                    .protocol = kind == wire::Kind::active ? trace::Protocol::active_message : trace::Protocol::eager,
                    .peer = to.rank,
                    .communicator = header.comm,
                    .sequence = next,
                    .tag = to.tag,
                    .bytes = header.bytes,
                    .posted = posted,
                    .handed = now,
                    .moved = now,
                    .completed = now});
  }
  return Status{self(), to.tag, data.size(), next++, {}};
}

/// Gives the operation its place in the order, and sends it now or when it may.
void Endpoint::leave(Operation& operation) {
  detail::Peer& peer = *peers_[operation.peer.value()];
  operation.posted = now_if_tracing();
  add(outstanding_, 1);
  operation.sequence = peer.stream(operation.comm).next_sent++;
  if (operation.is_active_message && !operation.data.empty()) {
    operation.owned.assign(operation.data.begin(), operation.data.end());
    operation.data = operation.owned;
  }
  if (peer.backlog.empty() && try_leave(operation)) {
    return;
  }
  peer.backlog.push_back(&operation);
  if (!std::exchange(peer.is_in_backlog_list, true)) {
    with_backlog_.push_back(operation.peer);
  }
}

bool Endpoint::try_leave(Operation& operation) {
  const bool is_eager = leaves_with_its_data(operation.data.size(), *peers_[operation.peer.value()]);
  using enum wire::Kind;
  wire::Header header{
      .kind = operation.is_active_message ? (is_eager ? active : active_request) : (is_eager ? eager : request),
      .comm = operation.comm.value(),
      .sequence = operation.sequence,
      .tag = operation.tag.value(),
      .bytes = operation.data.size()};
  if (!is_eager) {
    header.operation = free_announced_.empty() ? announced_.size() : free_announced_.back();
  }
  if (!try_packet(operation.peer, header, is_eager ? operation.data : std::span<const std::byte>{})) {
    return false;
  }
  operation.handed = now_if_tracing();
  operation.moved = operation.handed;
  if (is_eager) {
    complete(operation, operation.data.size());
    return true;
  }
  operation.was_announced = true;
  operation.announced = header.operation;
  if (free_announced_.empty()) {
    announced_.push_back(&operation);
  } else {
    announced_[free_announced_.back()] = &operation;
    free_announced_.pop_back();
  }
  return true;
}

/// Sends a packet that costs a credit, if there is one and the driver takes it.
bool Endpoint::try_packet(Rank to, wire::Header& header, std::span<const std::byte> data) {
  detail::Peer& peer = *peers_[to.value()];
  if (peer.credits == 0) {
    return false;
  }
  header.credits = static_cast<std::uint16_t>(peer.credits_to_return);
  net::Packet packet = driver_.acquire();
  fill(packet, header, data);
  if (try_send(to, packet) == net::Post::retry) {
    driver_.recycle(std::move(packet));
    return false;
  }
  --peer.credits;
  peer.credits_to_return = 0;
  return true;
}

/// As the driver's `send`; a network that fails leaves the packet with its holder, for whoever looks at `failure()`.
net::Post Endpoint::try_send(Rank to, net::Packet& packet) try {
  return driver_.send(to, std::move(packet));
} catch (const Error& error) {
  set_failure(error);
  return net::Post::retry;
}

void Endpoint::leave_from_backlog() {
  std::erase_if(with_backlog_, [this](Rank rank) { return try_leave_all(rank); });
}

/// False when something must still wait.
bool Endpoint::try_leave_all(Rank rank) {
  detail::Peer& peer = *peers_[rank.value()];
  while (!peer.control_backlog.empty()) {
    if (try_send(rank, peer.control_backlog.front()) == net::Post::retry) {
      return false;
    }
    peer.control_backlog.pop_front();
  }
  while (!peer.backlog.empty()) {
    if (!try_leave(*peer.backlog.front())) {
      return false;
    }
    peer.backlog.pop_front();
  }
  peer.is_in_backlog_list = false;
  return true;
}

void Endpoint::send_control(Rank to, const wire::Header& header, std::span<const std::byte> data) {
  detail::Peer& peer = *peers_[to.value()];
  wire::Header with_credits = header;
  with_credits.credits = static_cast<std::uint16_t>(std::exchange(peer.credits_to_return, 0));
  net::Packet packet = driver_.acquire();
  fill(packet, with_credits, data);
  if (peer.control_backlog.empty() && try_send(to, packet) != net::Post::retry) {
    return;
  }
  peer.control_backlog.push_back(std::move(packet));
  if (!std::exchange(peer.is_in_backlog_list, true)) {
    with_backlog_.push_back(to);
  }
}

/// Tells peers that have used half of their credits that they have them again.
void Endpoint::return_credits() {
  std::erase_if(with_credits_to_return_, [this](Rank rank) {
    detail::Peer& peer = *peers_[rank.value()];
    if (peer.credits_to_return * 2 >= credits_of_a_peer_) {
      send_control(rank, {.kind = wire::Kind::credit});
    }
    peer.is_in_credit_list = false;
    return true;
  });
}

// ---- coming in ----

std::size_t Endpoint::poll() {
  if (is_tracing_) {
    record_poll_gap();
  }
  const net::Polled polled = driver_.poll(arrivals_, bulk_done_);
  for (std::size_t i = 0; i < polled.arrivals; ++i) {
    handle(std::move(arrivals_[i]));
  }
  for (std::size_t i = 0; i < polled.bulk; ++i) {
    bulk_done(bulk_done_[i]);
  }
  if (!waiting_bulk_.empty()) {
    post_waiting_bulk();
  }
  if (!with_credits_to_return_.empty()) {
    return_credits();
  }
  if (!with_backlog_.empty()) {
    leave_from_backlog();
  }
  return polled.arrivals + polled.bulk;
}

void Endpoint::handle(net::Arrival arrival) {
  if (arrival.packet.size() < sizeof(wire::Header)) {
    throw Error{ErrorCode::network,
                fmt::format("a packet of {} bytes came from rank {}: do all ranks run the same version of plait?",
                            arrival.packet.size(),
                            arrival.peer.value()),
                arrival.peer};
  }
  const wire::Header header = header_of(arrival.packet);
  detail::Peer& peer = *peers_[arrival.peer.value()];
  peer.credits += header.credits;
  if (is_sequenced(header.kind)) {
    ++peer.credits_to_return;
    if (!std::exchange(peer.is_in_credit_list, true)) {
      with_credits_to_return_.push_back(arrival.peer);
    }
    handle_sequenced(arrival.peer, header, std::move(arrival.packet));
    return;
  }
  switch (header.kind) {
    case wire::Kind::ready:
      handle_ready(arrival.peer, header);
      break;
    case wire::Kind::refused: {
      Operation& operation = *std::exchange(announced_.at(header.operation), nullptr);
      free_announced_.push_back(static_cast<std::uint32_t>(header.operation));
      complete(operation, operation.data.size());
      break;
    }
    case wire::Kind::eager_off:
    case wire::Kind::eager_on:
      peer.may_only_announce = header.kind == wire::Kind::eager_off;
      break;
    case wire::Kind::failed: {
      const auto text = data_of(arrival.packet);
      set_failure(Error{ErrorCode::peer_failed,
                        fmt::format("rank {} stopped the run: {}",
                                    arrival.peer.value(),
                                    std::string_view{reinterpret_cast<const char*>(text.data()), text.size()}),
                        arrival.peer});
      break;
    }
    default:
      break;  // credit: the header has said it all
  }
  driver_.recycle(std::move(arrival.packet));
}

void Endpoint::handle_sequenced(Rank source, const wire::Header& header, net::Packet packet) {
  detail::Stream& stream = peers_[source.value()]->stream(CommId{header.comm});
  if (header.sequence != stream.next_received) {
    stream.early.emplace(header.sequence, std::move(packet));
    return;
  }
  ++stream.next_received;
  deliver(source, header, std::move(packet));
  while (!stream.early.empty() && stream.early.begin()->first == stream.next_received) {
    net::Packet next = std::move(stream.early.begin()->second);
    stream.early.erase(stream.early.begin());
    ++stream.next_received;
    const wire::Header next_header = header_of(next);
    deliver(source, next_header, std::move(next));
  }
}

void Endpoint::deliver(Rank source, const wire::Header& header, net::Packet packet) {
  if (header.kind == wire::Kind::active || header.kind == wire::Kind::active_request) {
    deliver_active(source, header, std::move(packet));
  } else {
    deliver_message(source, header, std::move(packet));
  }
}

void Endpoint::deliver_message(Rank source, const wire::Header& header, net::Packet packet) {
  PostedReceive* const receive = matcher_.match({CommId{header.comm}, source, Tag{header.tag}});
  if (receive == nullptr) {
    keep_unexpected(source, header, std::move(packet));
    return;
  }
  auto& operation = static_cast<Operation&>(*receive);
  operation.peer = source;
  operation.handed = now_if_tracing();
  operation.moved = operation.handed;
  give(operation, header, data_of(packet));
  driver_.recycle(std::move(packet));
}

void Endpoint::deliver_active(Rank source, const wire::Header& header, net::Packet packet) {
  if (header.kind == wire::Kind::active) {
    const auto payload = data_of(packet);
    active_.push_back(
        {HandlerId{static_cast<std::uint32_t>(header.tag)}, source, Bytes{payload.begin(), payload.end()}});
    active_count_.fetch_add(1, std::memory_order_release);  // with acquire in progress()
  } else {
    auto* const operation = new Operation;
    operation->direction = net::Direction::received;
    operation->is_active_message = true;
    operation->growing = &operation->owned;
    operation->peer = source;
    operation->comm = CommId{header.comm};
    operation->posted = now_if_tracing();
    operation->handed = operation->posted;
    add(outstanding_, 1);
    give(*operation, header, {});
  }
  driver_.recycle(std::move(packet));
}

void Endpoint::keep_unexpected(Rank source, const wire::Header& header, net::Packet packet) {
  auto message = std::make_unique<detail::Unexpected>();
  message->envelope = {CommId{header.comm}, source, Tag{header.tag}};
  message->header = header;
  message->arrived = now_if_tracing();
  if (const auto data = data_of(packet); data.size() * 2 < packet.capacity()) {
    message->data.assign(data.begin(), data.end());
    driver_.recycle(std::move(packet));
  } else {
    message->packet = std::move(packet);
  }
  detail::Peer& peer = *peers_[source.value()];
  peer.unexpected_bytes += message->memory_bytes();
  if (peer.unexpected_bytes > options_.unexpected_bytes_max && !std::exchange(peer.was_told_to_announce, true)) {
    send_control(source, {.kind = wire::Kind::eager_off});
  }
  matcher_.keep(*message.release());  // taken back in give_unexpected() or the destructor
}

void Endpoint::give_unexpected(Operation& operation, std::unique_ptr<detail::Unexpected> message) {
  const Rank source = message->envelope.source;
  detail::Peer& peer = *peers_[source.value()];
  peer.unexpected_bytes -= message->memory_bytes();
  if (peer.was_told_to_announce && peer.unexpected_bytes * 2 < options_.unexpected_bytes_max) {
    peer.was_told_to_announce = false;
    send_control(source, {.kind = wire::Kind::eager_on});
  }
  operation.peer = source;
  operation.handed = now_if_tracing();
  operation.moved = message->arrived;
  if (message->packet) {
    give(operation, message->header, data_of(message->packet));
    driver_.recycle(std::move(message->packet));
  } else {
    give(operation, message->header, message->data);
  }
}

/// Hands a matched message to its receive: the data, or the wish to have it sent.
void Endpoint::give(Operation& operation, const wire::Header& header, std::span<const std::byte> data) {
  operation.tag = Tag{header.tag};
  operation.sequence = header.sequence;
  const bool is_announced = header.kind == wire::Kind::request || header.kind == wire::Kind::active_request;
  operation.was_announced = is_announced;
  if (operation.growing != nullptr) {
    operation.growing->resize(header.bytes);
    operation.buffer = *operation.growing;
  }
  if (header.bytes > operation.buffer.size()) {
    if (is_announced) {
      send_control(operation.peer, {.kind = wire::Kind::refused, .operation = header.operation});
    }
    complete(operation, header.bytes, ErrorCode::truncated);
    return;
  }
  operation.buffer = operation.buffer.first(header.bytes);
  if (is_announced) {
    start_bulk_receive(operation, header);
    return;
  }
  if (!data.empty()) {
    std::memcpy(operation.buffer.data(), data.data(), data.size());
  }
  complete(operation, header.bytes);
}

// ---- bulk ----

void Endpoint::start_bulk_receive(Operation& operation, const wire::Header& header) {
  operation.announced = header.operation;
  if (operation.buffer.empty()) {  // a driver moves at least a byte
    send_control(operation.peer, {.kind = wire::Kind::refused, .operation = header.operation});
    complete(operation, 0);
  } else if (!waiting_bulk_.empty() || !try_bulk(operation)) {
    waiting_bulk_.push_back(&operation);
  }
}

/// Posts the bulk transfer of a matched receive, or of a send whose receiver is ready. False when a slot or the driver
/// is busy.
bool Endpoint::try_bulk(Operation& operation) try {
  if (operation.direction == net::Direction::sent) {
    if (driver_.send_bulk({operation.peer, net::BulkSlot{operation.slot}, operation.data, operation.announced}) ==
        net::Post::retry) {
      return false;
    }
    add(bulk_count_, 1);
    return true;
  }
  if (free_slots_.empty()) {
    return false;
  }
  const std::uint32_t slot = free_slots_.back();
  if (driver_.receive_bulk({operation.peer, net::BulkSlot{slot}, operation.buffer, slot}) == net::Post::retry) {
    return false;
  }
  add(bulk_count_, 1);
  free_slots_.pop_back();
  slots_[slot] = &operation;
  operation.slot = slot;
  send_control(operation.peer, {.kind = wire::Kind::ready, .slot = slot, .operation = operation.announced});
  return true;
} catch (const Error& error) {
  set_failure(error);
  return false;
}

/// Sends do not wait behind receives: a flood of receives must never keep a send from being posted.
void Endpoint::post_waiting_bulk() {
  bool can_send = true;
  bool can_receive = true;
  std::erase_if(waiting_bulk_, [&](Operation* operation) {
    bool& can = operation->direction == net::Direction::sent ? can_send : can_receive;
    can = can && try_bulk(*operation);
    return can;
  });
}

void Endpoint::handle_ready(Rank source, const wire::Header& header) {
  Operation* const operation = announced_.at(header.operation);
  expect(operation != nullptr && operation->peer == source, "only the receiver of an announced message answers it");
  operation->slot = header.slot;
  operation->handed = now_if_tracing();
  if (!try_bulk(*operation)) {
    waiting_bulk_.push_back(operation);
  }
}

void Endpoint::bulk_done(const net::BulkDone& done) {
  add(bulk_count_, -1);
  Operation* operation = nullptr;
  if (done.direction == net::Direction::sent) {
    operation = std::exchange(announced_.at(done.cookie), nullptr);
    free_announced_.push_back(static_cast<std::uint32_t>(done.cookie));
    operation->moved = now_if_tracing();
    complete(*operation, operation->data.size());
    return;
  }
  operation = std::exchange(slots_.at(done.cookie), nullptr);
  free_slots_.push_back(static_cast<std::uint32_t>(done.cookie));
  operation->moved = now_if_tracing();
  if (operation->is_active_message) {
    active_.push_back(
        {HandlerId{static_cast<std::uint32_t>(operation->tag.value())}, operation->peer, std::move(operation->owned)});
    active_count_.fetch_add(1, std::memory_order_release);  // with acquire in progress()
  }
  complete(*operation, operation->buffer.size());
}

// ---- completion ----

void Endpoint::complete(Operation& operation, std::size_t bytes, std::optional<ErrorCode> error) {
  operation.status = {operation.direction == net::Direction::sent ? self() : operation.peer,
                      operation.tag,
                      bytes,
                      operation.sequence,
                      error};
  add(outstanding_, -1);
  if (is_tracing_) {
    record(operation);
  }
  if (completed_ == nullptr) {
    completed_ = &operation;
  } else {
    completed_last_->next_completed = &operation;
  }
  completed_last_ = &operation;
}

void Endpoint::record(const Operation& operation) {
  using trace::MessageDirection;
  using trace::Protocol;
  trace_.message(
      {.direction = operation.direction == net::Direction::sent ? MessageDirection::sent : MessageDirection::received,
       .protocol = operation.is_active_message ? Protocol::active_message
                   : operation.was_announced   ? Protocol::rendezvous
                                               : Protocol::eager,
       .peer = operation.peer,
       .communicator = operation.comm.value(),
       .sequence = operation.sequence,
       .tag = operation.tag,
       .bytes = operation.status.bytes,
       .posted = operation.posted,
       .handed = operation.handed,
       .moved = operation.moved,
       .completed = recorder_.now()});
}

void Endpoint::record_poll_gap() {
  const nanoseconds now = recorder_.now();
  if (now - last_poll_ > options_.poll_gap_min && outstanding_.load(std::memory_order_relaxed) > 0) {  // a hint
    trace_.poll_gap({.start = last_poll_, .end = now});
  }
  last_poll_ = now;
}

}  // namespace plait::comm
