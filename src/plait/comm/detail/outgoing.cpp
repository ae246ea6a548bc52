// SPDX-License-Identifier: Apache-2.0
// What goes out: messages that leave at once, messages that wait, the packets they share, credits.
#include <cstring>

#include "plait/comm/detail/engine.hpp"

namespace plait::comm::detail {

namespace {

constexpr int push_out_attempts_max = 1000;

}  // namespace

std::size_t Engine::route_bytes(const Operation& operation) {
  return operation.forwarding ? sizeof(wire::Route) + operation.forwarding->stops.size() * sizeof(wire::Stop) : 0;
}

bool Engine::leaves_with_its_data(const Operation& operation, const Peer& peer) const {
  const Operation& holder = operation.holder();
  if (&holder != &operation && holder.forwarding->available < operation.bytes) {
    return false;  // the data to be passed on has not come yet
  }
  return operation.bytes <= eager_bytes_max_ && (!peer.may_only_announce || operation.bytes == 0) &&
         sizeof(wire::Header) + route_bytes(operation) + operation.bytes <= driver_.packet_bytes_max();
}

std::optional<std::uint32_t> Engine::leave_at_once(const Address& to,
                                                   wire::Kind kind,
                                                   std::span<const std::byte> data) {
  Peer& receiver = peer(to.rank);
  if (data.size() > eager_bytes_max_ || receiver.credits == 0 || receiver.has_backlog() ||
      (receiver.may_only_announce && !data.empty()) || (gathers_ && driver_.is_busy(to.rank))) {
    return {};
  }
  const nanoseconds posted = now_if_tracing();
  std::uint32_t& next = receiver.stream(to.comm).next_sent;
  const wire::Header header{.kind = kind,
                            .comm = to.comm.value(),
                            .sequence = next++,
                            .payload = static_cast<std::uint32_t>(data.size()),
                            .tag = to.tag.value(),
                            .bytes = data.size()};
  net::Packet packet = driver_.acquire();
  packet.resize(0);
  append(packet, header, data);
  --receiver.credits;
  (void)send_packet(to.rank, std::move(packet));  // when the driver is full it goes first, later
  if (is_tracing_) {
    const nanoseconds now = recorder_.now();
    trace_.message({.direction = trace::MessageDirection::sent,
                    .protocol = kind == wire::Kind::active ? trace::Protocol::active_message : trace::Protocol::eager,
                    .peer = to.rank,
                    .communicator = header.comm,
                    .sequence = header.sequence,
                    .tag = to.tag,
                    .bytes = header.bytes,
                    .posted = posted,
                    .handed = now,
                    .moved = now,
                    .completed = now});
  }
  return header.sequence;
}

void Engine::leave(Operation& operation) {
  operation.posted = now_if_tracing();
  ++outstanding_;
  operation.sequence = peer(operation.peer).stream(operation.comm).next_sent++;
  if (operation.is_active_message && operation.bytes > 0) {
    operation.owned.assign(operation.memory.begin(), operation.memory.end());
    operation.memory = operation.owned;
  }
  wait_to_leave(operation);
}

/// Queues the operation, and sends what may leave now.
void Engine::wait_to_leave(Operation& operation) {
  peer(operation.peer).waiting->add(operation);
  if (!try_leave_all(operation.peer)) {
    note_backlog(operation.peer);
  }
}

void Engine::note_backlog(Rank rank) {
  if (!std::exchange(peer(rank).is_in_backlog_list, true)) {
    with_backlog_.push_back(rank);
  }
}

void Engine::leave_from_backlog() {
  std::erase_if(with_backlog_, [this](Rank rank) {
    if (!try_leave_all(rank)) {
      return false;
    }
    peer(rank).is_in_backlog_list = false;
    return true;
  });
}

/// False when something must still wait.
bool Engine::try_leave_all(Rank rank) {
  Peer& receiver = peer(rank);
  if (receiver.refused && !send_packet(rank, std::move(receiver.refused))) {
    return false;
  }
  while (receiver.has_backlog()) {
    if ((gathers_ && driver_.is_busy(rank)) || (receiver.control.empty() && receiver.credits == 0)) {
      return false;
    }
    if (!send_packet(rank, pack(rank))) {
      return false;
    }
  }
  return true;
}

/// The next packet: control first, then messages as the strategy chooses them, as far as they fit.
net::Packet Engine::pack(Rank rank) {
  Peer& receiver = peer(rank);
  net::Packet packet = driver_.acquire();
  packet.resize(0);
  while (!receiver.control.empty()) {
    const Chunk& chunk = receiver.control.front();
    if (wire::aligned(packet.size()) + sizeof(wire::Header) + chunk.payload.size() > driver_.packet_bytes_max()) {
      return packet;
    }
    append(packet, chunk.header, chunk.payload);
    receiver.control.pop_front();
  }
  if (receiver.credits > 0) {
    pack_messages(packet, rank);
  }
  return packet;
}

void Engine::pack_messages(net::Packet& packet, Rank rank) {
  Peer& receiver = peer(rank);
  std::size_t packed = 0;
  while (Outgoing* const next = receiver.waiting->front(packed)) {
    auto& operation = static_cast<Operation&>(*next);
    const bool is_eager = leaves_with_its_data(operation, receiver);
    const std::size_t payload = route_bytes(operation) + (is_eager ? operation.bytes : 0);
    if (wire::aligned(packet.size()) + sizeof(wire::Header) + payload > driver_.packet_bytes_max()) {
      break;
    }
    receiver.waiting->pop();
    append_message(packet, operation, is_eager);
    has_left(operation, is_eager);
    ++packed;
  }
  if (packed > 0) {
    --receiver.credits;
  }
}

wire::Header Engine::header_of_next(Operation& operation, bool is_eager) {
  using enum wire::Kind;
  wire::Header header{.kind = operation.forwarding          ? (is_eager ? multicast : multicast_request)
                              : operation.is_active_message ? (is_eager ? active : active_request)
                                                            : (is_eager ? eager : request),
                      .priority = operation.priority,
                      .comm = operation.comm.value(),
                      .sequence = operation.sequence,
                      .tag = operation.tag.value(),
                      .bytes = operation.bytes};
  if (!is_eager) {
    header.operation = announce(operation);
  }
  return header;
}

void Engine::append_message(net::Packet& packet, Operation& operation, bool is_eager) {
  wire::Header header = header_of_next(operation, is_eager);
  const std::size_t route = route_bytes(operation);
  const std::size_t data = is_eager ? operation.bytes : 0;
  header.payload = static_cast<std::uint32_t>(route + data);
  append(packet, header, {});
  std::byte* const payload = packet.data() + packet.size();
  packet.resize(packet.size() + header.payload);
  if (route > 0) {
    Forwarding& forwarding = *operation.forwarding;
    forwarding.route.offered =
        forwarding.source != nullptr ? forwarding.source->forwarding->available : operation.bytes;
    std::memcpy(payload, &forwarding.route, sizeof forwarding.route);
    if (!forwarding.stops.empty()) {
      std::memcpy(
          payload + sizeof forwarding.route, forwarding.stops.data(), forwarding.stops.size() * sizeof(wire::Stop));
    }
  }
  operation.holder().gather(0, {payload + route, data});
}

void Engine::append(net::Packet& packet, const wire::Header& header, std::span<const std::byte> payload) {
  const std::size_t begin = wire::aligned(packet.size());
  packet.resize(begin + sizeof header + payload.size());
  std::memcpy(packet.data() + begin, &header, sizeof header);
  if (!payload.empty()) {
    std::memcpy(packet.data() + begin + sizeof header, payload.data(), payload.size());
  }
}

void Engine::has_left(Operation& operation, bool is_eager) {
  operation.handed = now_if_tracing();
  operation.moved = operation.handed;
  if (is_eager) {
    complete(operation, operation.bytes);
  }
}

/// False when the driver is full, or has failed: then the packet is kept, and goes first next time.
bool Engine::send_packet(Rank rank, net::Packet&& packet) {
  Peer& receiver = peer(rank);
  wire::Header first;
  std::memcpy(&first, packet.data(), sizeof first);
  first.credits = static_cast<std::uint8_t>(first.credits + std::exchange(receiver.credits_to_return, 0));
  std::memcpy(packet.data(), &first, sizeof first);
  try {
    const net::Post post = driver_.send(rank, std::move(packet));
    if (post != net::Post::retry) {
      is_driver_busy_ = is_driver_busy_ || post == net::Post::posted;
      ++packet_count_;
      return true;
    }
  } catch (const Error& error) {
    set_failure(error);
    if (!packet) {
      return false;
    }
  }
  receiver.refused = std::move(packet);
  note_backlog(rank);
  return false;
}

void Engine::send_control(Rank to, const wire::Header& header, std::span<const std::byte> payload) {
  Peer& receiver = peer(to);
  Chunk chunk{header, Bytes{payload.begin(), payload.end()}, {}};
  chunk.header.payload = static_cast<std::uint32_t>(payload.size());
  receiver.control.push_back(std::move(chunk));
  if (!try_leave_all(to)) {
    note_backlog(to);
  }
}

/// Tells peers that have used half of their credits that they have them again.
void Engine::return_credits() {
  std::erase_if(with_credits_to_return_, [this](Rank rank) {
    peer(rank).is_in_credit_list = false;
    if (peer(rank).credits_to_return * 2 >= credits_of_a_peer_) {
      send_control(rank, {.kind = wire::Kind::credit});
    }
    return true;
  });
}

/// Looks at the network until what was sent has left, for a bounded while; what comes is dropped.
void Engine::push_out() {
  const auto is_out = [this] { return driver_.is_idle() && with_backlog_.empty(); };
  for (int attempt = 0; attempt < push_out_attempts_max && !is_out(); ++attempt) {
    const net::Polled polled = driver_.poll(arrivals_, bulk_done_);
    for (std::size_t i = 0; i < polled.arrivals; ++i) {
      driver_.recycle(std::move(arrivals_[i].packet));
    }
    if (!with_backlog_.empty()) {  // what the driver had no room for
      leave_from_backlog();
    }
  }
}

}  // namespace plait::comm::detail
