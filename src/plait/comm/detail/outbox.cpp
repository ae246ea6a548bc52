// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/outbox.hpp"

#include <algorithm>
#include <cstring>

namespace plait::comm::detail {

namespace {

/// What a message has in front of its data.
std::size_t prefix_bytes(const Operation& send, bool is_eager) {
  if (send.one_sided == OneSided::put && !is_eager) {
    return sizeof(wire::Place);
  }
  return send.forwarding ? sizeof(wire::Route) + send.forwarding->stops.size() * sizeof(wire::Stop) : 0;
}

/// Of the data, what follows that in the packet.
std::size_t data_bytes(const Operation& send, bool is_eager) {
  return is_eager && !(send.forwarding && send.forwarding->copy) ? send.bytes : 0;
}

/// A put whose data is in the packet completes at once, unless the target acknowledges it.
bool is_acknowledged(const Operation& send) {
  return send.one_sided == OneSided::put && send.is_synchronous;
}

wire::ChunkKind kind_of(const Operation& send, bool is_eager) {
  using enum wire::ChunkKind;
  switch (send.one_sided) {
    case OneSided::put:
      return is_eager ? put : put_rts;
    case OneSided::got:
      return is_eager ? got : got_rts;
    case OneSided::get:
      return get;
    default:
      break;
  }
  if (send.forwarding) {
    return is_eager ? multicast : multicast_rts;
  }
  if (send.is_active_message) {
    return is_eager ? active : active_rts;
  }
  return is_eager ? eager : rts;
}

void copy(std::byte* to, std::span<const std::byte> from) {
  if (!from.empty()) {
    std::memcpy(to, from.data(), from.size());
  }
}

}  // namespace

std::byte* append_chunk(net::Packet& packet, const wire::Header& header) {
  const std::size_t begin = wire::aligned(packet.size());
  packet.resize(begin + sizeof header + header.payload);
  std::memcpy(packet.data() + begin, &header, sizeof header);
  return packet.data() + begin + sizeof header;
}

Outbox::Outbox(const Uses& uses, const EndpointOptions& options)
    : uses_{uses},
      packet_bytes_max_{uses.network.driver().packet_bytes_max()},
      eager_bytes_max_{options.eager_bytes_max},
      packing_{options.packing},
      gathers_{make_packing(options.packing)->gathers()},
      peers_{uses.network.driver().rank_count(), [&network = uses.network](Rank rank) {
               return Peer{.copied_bytes_max = network.driver().copied_bytes_max(rank), .backlog = nullptr};
             }} {}

Outbox::Backlog& Outbox::backlog(Rank rank) {
  std::unique_ptr<Backlog>& waiting = peer(rank).backlog;
  if (waiting == nullptr) {
    waiting = std::make_unique<Backlog>(Backlog{.refused = {}, .control = {}, .messages = make_packing(packing_)});
  }
  return *waiting;
}

bool Outbox::is_eager(const Operation& send, const Peer& receiver) const {
  if (send.one_sided != OneSided::none) {  // takes no memory for unexpected data
    const std::size_t most = is_acknowledged(send) ? packet_bytes_max_ : receiver.copied_bytes_max;
    return send.one_sided == OneSided::get ||
           (send.bytes <= eager_bytes_max_ && sizeof(wire::Header) + send.bytes <= most);
  }
  if (send.forwarding && send.forwarding->copy) {
    return true;
  }
  const Operation& holder = send.holder();
  if (&holder != &send && holder.forwarding->available < send.bytes) {
    return false;  // the data to be forwarded has not arrived yet
  }
  const std::size_t room = send.forwarding ? packet_bytes_max_ : receiver.copied_bytes_max;
  return !send.is_synchronous && send.bytes <= eager_bytes_max_ && (!receiver.is_rendezvous_only || send.bytes == 0) &&
         sizeof(wire::Header) + prefix_bytes(send, true) + send.bytes <= room;
}

bool Outbox::send_now(Rank to, wire::Header& header, std::span<const std::byte> data) {
  Peer& receiver = peer(to);
  net::Driver& driver = uses_.network.driver();
  if (data.size() > eager_bytes_max_ || sizeof(wire::Header) + data.size() > packet_bytes_max_ ||
      !uses_.credits.has(to) || receiver.is_listed || (receiver.is_rendezvous_only && !data.empty()) ||
      (gathers_ && driver.is_busy(to)) || (!with_backlog_.empty() && driver.is_full())) {
    return false;
  }
  const nanoseconds posted = uses_.trace.now();
  const CommId comm{header.comm};
  header.sequence = uses_.sequences.next_sent(to, comm);
  header.payload = static_cast<std::uint32_t>(data.size());
  if (has_checks && header.sequence == 0 && header.kind == wire::ChunkKind::eager) {
    header.operation = uses_.claims.digest(comm);
  }
  header.credits = static_cast<std::uint8_t>(uses_.credits.take_due(to));
  uses_.credits.use(to);
  if (!uses_.network.send_copy(to, std::as_bytes(std::span{&header, 1}), data)) [[unlikely]] {
    net::Packet packet = driver.acquire();
    packet.resize(0);
    copy(append_chunk(packet, header), data);
    keep_refused(to, packet);
  }
  if (uses_.trace.is_on()) {
    uses_.trace.sent(header, to, posted);
  }
  return true;
}

void Outbox::send(Operation& send) {
  uses_.completions.start(send);
  send.sequence = uses_.sequences.next_sent(send.peer, send.comm);
  if (send.is_active_message && send.bytes > 0) {
    send.own_memory().assign(send.memory.begin(), send.memory.end());
    send.memory = *send.owned;
  }
  enqueue(send);
}

void Outbox::enqueue(Operation& send) {
  backlog(send.peer).messages->add(send);
  flush_or_list(send.peer);
}

void Outbox::send_control(Rank to, const wire::Header& header, std::span<const std::byte> payload) {
  Chunk chunk{header, Bytes{payload.begin(), payload.end()}, {}};
  chunk.header.payload = static_cast<std::uint32_t>(payload.size());
  backlog(to).control.push_back(std::move(chunk));
  flush_or_list(to);
}

void Outbox::flush_or_list(Rank rank) {
  if (!try_flush(rank) && !std::exchange(peer(rank).is_listed, true)) {
    with_backlog_.push_back(rank);
  }
}

void Outbox::flush() {
  // Asks only as many peers as the driver takes packets for: an exchange of all ranks has as many as there are ranks.
  auto kept = with_backlog_.begin();
  auto next = kept;
  for (; next != with_backlog_.end() && !uses_.network.driver().is_full(); ++next) {
    peer(*next).is_listed = !try_flush(*next);
    if (peer(*next).is_listed) {
      *kept++ = *next;
    }
  }
  with_backlog_.erase(kept, next);
}

void Outbox::return_credits() {
  uses_.credits.return_due([this](Rank peer) { send_control(peer, {.kind = wire::ChunkKind::credit}); });
}

/// False when something must still wait.
bool Outbox::try_flush(Rank rank) {
  Backlog& waiting = backlog(rank);
  if (waiting.refused) {
    net::Packet refused = std::move(waiting.refused);
    if (!send_packet(rank, refused)) {
      return false;
    }
  }
  while (!waiting.is_empty()) {
    if ((gathers_ && uses_.network.driver().is_busy(rank)) || uses_.network.driver().is_full() ||
        (waiting.control.empty() && !uses_.credits.has(rank))) {
      return false;
    }
    if (Operation* const next = next_long(peer(rank))) {
      if (!send_long(rank, *next)) {
        return false;
      }
      continue;
    }
    net::Packet packet = pack(rank);
    if (!send_packet(rank, packet)) {
      return false;
    }
  }
  return true;
}

Operation* Outbox::next_long(const Peer& receiver) const {
  const Backlog& waiting = *receiver.backlog;
  WaitingMessage* const next =
      receiver.copied_bytes_max > packet_bytes_max_ && waiting.control.empty() ? waiting.messages->front(0) : nullptr;
  auto* const send = static_cast<Operation*>(next);
  const bool is_long = send != nullptr && sizeof(wire::Header) + data_bytes(*send, true) > packet_bytes_max_;
  return is_long && is_eager(*send, receiver) ? send : nullptr;
}

/// False when the driver is full or has failed.
bool Outbox::send_long(Rank rank, Operation& send) {
  const wire::Header header = header_of(send, true);
  std::span<const std::byte> data = send.contiguous(0, send.bytes);
  if (data.empty()) {
    gathered_.resize(send.bytes);
    send.gather(0, gathered_);
    data = gathered_;
  }
  if (!uses_.network.send_copy(rank, std::as_bytes(std::span{&header, 1}), data)) {
    return false;
  }
  backlog(rank).messages->pop();
  uses_.credits.use(rank);
  note_handed(send, true);
  return true;
}

void Outbox::note_handed(Operation& send, bool is_eager) {
  send.handed = uses_.trace.now();
  send.moved = send.handed;
  if (is_eager && is_acknowledged(send)) {
    send.bytes_moved = send.bytes;
  } else if (is_eager) {
    uses_.completions.complete(send, send.bytes);
  }
}

/// The next packet: control first, then messages as the strategy chooses them, as far as they fit.
net::Packet Outbox::pack(Rank rank) {
  std::deque<Chunk>& control = backlog(rank).control;
  net::Packet packet = uses_.network.driver().acquire();
  packet.resize(0);
  while (!control.empty()) {
    const Chunk& chunk = control.front();
    if (wire::aligned(packet.size()) + sizeof(wire::Header) + chunk.payload.size() > packet_bytes_max_) {
      return packet;
    }
    copy(append_chunk(packet, chunk.header), chunk.payload);
    control.pop_front();
  }
  if (uses_.credits.has(rank)) {
    pack_messages(packet, rank);
  }
  return packet;
}

void Outbox::pack_messages(net::Packet& packet, Rank rank) {
  const Peer& receiver = peer(rank);
  Packing& messages = *receiver.backlog->messages;
  std::size_t packed = 0;
  while (WaitingMessage* const next = messages.front(packed)) {
    auto& send = static_cast<Operation&>(*next);
    const bool eager = is_eager(send, receiver);
    const std::size_t payload = prefix_bytes(send, eager) + data_bytes(send, eager);
    if (wire::aligned(packet.size()) + sizeof(wire::Header) + payload > packet_bytes_max_) {
      break;
    }
    messages.pop();
    append_message(packet, send, eager);
    note_handed(send, eager);
    ++packed;
  }
  if (packed > 0) {
    uses_.credits.use(rank);
  }
}

wire::Header Outbox::header_of(Operation& send, bool is_eager) {
  wire::Header header{.kind = kind_of(send, is_eager),
                      .priority = send.priority,
                      .comm = send.comm.value(),
                      .sequence = send.sequence,
                      .payload = static_cast<std::uint32_t>(prefix_bytes(send, is_eager) + data_bytes(send, is_eager)),
                      .tag = send.tag.value(),
                      .bytes = send.bytes};
  if (header.kind == wire::ChunkKind::put) {
    header.bytes = send.place;
  }
  if (!is_eager || is_acknowledged(send)) {
    header.operation = uses_.rendezvous.add(send);
    send.is_rendezvous = !is_eager;
  } else if (send.forwarding && send.forwarding->copy) {
    header.operation = std::uint64_t{send.forwarding->copy.value()} + 1;
  } else if (has_checks && header.kind == wire::ChunkKind::eager && header.sequence == 0) {
    header.operation = uses_.claims.digest(send.comm);
  }
  return header;
}

void Outbox::append_message(net::Packet& packet, Operation& send, bool is_eager) {
  const wire::Header header = header_of(send, is_eager);
  std::byte* payload = append_chunk(packet, header);
  if (send.forwarding) {
    Forwarding& forwarding = *send.forwarding;
    forwarding.route.available = forwarding.source != nullptr ? forwarding.source->forwarding->available : send.bytes;
    std::memcpy(payload, &forwarding.route, sizeof forwarding.route);
    copy(payload + sizeof forwarding.route, std::as_bytes(std::span{forwarding.stops}));
    payload += prefix_bytes(send, is_eager);
  } else if (header.kind == wire::ChunkKind::put_rts) {
    const wire::Place place{.offset = send.place, .is_acknowledged = is_acknowledged(send) ? 1U : 0U};
    std::memcpy(payload, &place, sizeof place);
  }
  send.holder().gather(0, {payload, data_bytes(send, is_eager)});
}

/// False when the driver is full or has failed: then the packet is kept, and goes first next time.
bool Outbox::send_packet(Rank rank, net::Packet& packet) {
  wire::Header first;
  std::memcpy(&first, packet.data(), sizeof first);
  first.credits = static_cast<std::uint8_t>(first.credits + uses_.credits.take_due(rank));
  std::memcpy(packet.data(), &first, sizeof first);
  const bool is_sent = uses_.network.send(rank, packet);
  if (!is_sent && packet) {
    keep_refused(rank, packet);
  }
  return is_sent;
}

void Outbox::keep_refused(Rank rank, net::Packet& packet) {
  backlog(rank).refused = std::move(packet);
  if (!std::exchange(peer(rank).is_listed, true)) {
    with_backlog_.push_back(rank);
  }
}

}  // namespace plait::comm::detail
