// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/engine.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "plait/net/shared_copies.hpp"

namespace plait::comm::detail {

namespace {

constexpr std::size_t events_of_a_poll_max = 16;
constexpr int push_out_attempts_max = 1000;

std::uint32_t credits_of_a_peer(const EndpointOptions& options, const net::Driver& driver) {
  std::size_t largest = driver.packet_bytes_max();
  for (std::uint32_t rank = 0; rank < driver.rank_count(); ++rank) {
    largest = std::max(largest, driver.copied_bytes_max(Rank{rank}));
  }
  const std::size_t fit = options.packet_memory_bytes_max / (largest * driver.rank_count());
  const auto most = std::max<std::size_t>(2, std::min<std::size_t>(32, driver.packets_in_flight_max() / 2));
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(fit, 2, most));
}

/// Compares the digests of claims, which the first message of a claimed communicator carries in debug builds.
void throw_if_claims_differ(const CommClaims& claims, Rank self, const Incoming& message) {
  const CommId comm{message.header.comm};
  const std::uint64_t mine = claims.digest(comm);
  if (mine != 0 && mine != message.header.operation) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("ranks {} and {} have claimed communicators in different orders: communicator {} was "
                            "claimed at {} here, elsewhere there; all ranks must make the same objects in the same "
                            "order",
                            self.value(),
                            message.source.value(),
                            comm.value(),
                            claims.where(comm)),
                message.source};
  }
}

/// Delivers a message that is in order; its data may be a copy in shared memory.
void deliver_in_order(Incoming& message, Network& network, Delivery& delivery) {
  if (message.header.kind != wire::ChunkKind::multicast || message.header.operation == 0) {
    delivery.deliver(message);
    return;
  }
  net::SharedCopies* const copies = network.driver().shared_copies();
  const net::SharedCopyId copy{static_cast<std::uint32_t>(message.header.operation - 1)};
  message.data =
      copies != nullptr ? copies->read(message.via, copy, message.header.bytes) : std::span<const std::byte>{};
  if (message.data.empty()) {
    refuse_packet(message.via, message.header.payload);
  }
  delivery.deliver(message);
  copies->release(message.via, copy);
}

}  // namespace

Engine::Engine(
    net::Driver& driver, trace::Recorder& recorder, const EndpointOptions& options, Activity& activity, Copies& copies)
    : network_{driver, activity},
      trace_{recorder, options.poll_gap_min},
      completions_{driver.self(), trace_, actives_, activity},
      credits_{driver.rank_count(), credits_of_a_peer(options, driver)},
      sequences_{driver.rank_count()},
      sender_{network_, completions_, trace_, copies, options},
      outbox_{{network_, trace_, completions_, credits_, sequences_, sender_, claims_}, options},
      receiver_{network_, outbox_, completions_, copies, options},
      multicast_{network_, outbox_, completions_, sequences_, receiver_},
      one_sided_{{network_, activity, trace_, completions_, outbox_, receiver_}},
      inbox_{driver.rank_count(), options.unexpected_bytes_max},
      delivery_{{network_, trace_, completions_, actives_, inbox_, outbox_, receiver_, multicast_, one_sided_}},
      events_{std::vector<net::Arrival>(events_of_a_poll_max), std::vector<net::BulkDone>(events_of_a_poll_max)} {}

Engine::~Engine() {
  std::set<Operation*> left;
  const std::function<void(Operation*)> add = [&](Operation* operation) {
    if (operation == nullptr || !left.insert(operation).second || !operation->forwarding) {
      return;
    }
    add(operation->forwarding->source);
    if (operation->forwarding->taker != nullptr) {
      add(operation->forwarding->taker);
      release(operation);  // the count that the taker holds
    }
  };
  inbox_.matcher().for_each_posted(
      [&](const PostedReceive& receive) { add(const_cast<Operation*>(static_cast<const Operation*>(&receive))); });
  inbox_.matcher().for_each_unexpected([&](const UnexpectedMessage& message) {
    Operation* const staging = static_cast<const Unexpected*>(&message)->staging;
    if (staging != nullptr && (!staging->is_over || staging->forwards_left > 0)) {
      add(staging);
    }
  });
  outbox_.take_all(add);
  sender_.for_each(add);
  receiver_.for_each(add);
  one_sided_.for_each(add);
  std::ranges::for_each(left, release);
}

// ---- incoming ----

std::size_t Engine::poll() {
  trace_.polled(completions_.outstanding_count() > 0);
  const net::Polled polled = network_.poll(events_.arrivals, events_.bulk);
  for (std::size_t i = 0; i < polled.arrivals; ++i) {
    handle(events_.arrivals[i]);
  }
  for (std::size_t i = 0; i < polled.bulk; ++i) {
    handle_bulk(events_.bulk[i]);
  }
  if (receiver_.has_backlog()) {
    receiver_.request_segments();
  }
  if (sender_.has_backlog()) {
    sender_.send_segments();
  }
  if (credits_.has_processed()) {
    outbox_.return_credits();
  }
  if (!outbox_.is_empty()) {
    outbox_.flush();
  }
  network_.note_idle();
  return polled.arrivals + polled.bulk;
}

void Engine::end_copies(const std::vector<Copies::Ended>& copies) {
  for (const Copies::Ended& ended : copies) {
    if (ended.direction == CopyDirection::pack) {
      sender_.segment_packed(ended.cookie);
    } else {
      handle_segment(receiver_.segment_unpacked(ended.cookie));
    }
  }
  receiver_.request_segments();
  outbox_.flush();
}

void Engine::handle(net::Arrival& arrival) {
  const std::span<const std::byte> bytes = arrival.bytes();
  auto header = read<wire::Header>(bytes, arrival.peer);
  credits_.add(arrival.peer, header.credits);
  const bool is_alone = arrival.packet && wire::aligned(sizeof header + header.payload) >= bytes.size();
  bool has_message = false;
  for (std::size_t offset = 0;;) {
    offset += sizeof header;
    if (header.payload > bytes.size() - offset) {
      refuse_packet(arrival.peer, bytes.size());
    }
    const std::span<const std::byte> payload = bytes.subspan(offset, header.payload);
    if (wire::is_sequenced(header.kind)) {
      has_message = true;
      handle_message(arrival.peer, header, payload, is_alone ? &arrival.packet : nullptr);
    } else {
      handle_control(arrival.peer, header, payload);
    }
    offset = wire::aligned(offset + header.payload);
    if (offset >= bytes.size()) {
      break;
    }
    header = read<wire::Header>(bytes.subspan(offset), arrival.peer);
  }
  if (has_message) {
    credits_.note_processed(arrival.peer);
  }
  if (arrival.packet) {
    network_.driver().recycle(std::move(arrival.packet));
  }
}

void Engine::handle_message(Rank via,
                            const wire::Header& header,
                            std::span<const std::byte> payload,
                            net::Packet* packet) {
  const std::uint32_t rank_count = network_.driver().rank_count();
  Incoming message = parse(via, header, payload, rank_count);
  Stream& stream = sequences_.stream(message.source, CommId{header.comm});
  if (header.sequence != stream.next_received) {
    stream.early.emplace(header.sequence, Chunk{header, Bytes{payload.begin(), payload.end()}, via});
    return;
  }
  if (has_checks && header.sequence == 0 && header.kind == wire::ChunkKind::eager && header.operation != 0) {
    throw_if_claims_differ(claims_, network_.self(), message);
  }
  message.packet = message.stops.empty() && message.data.size() == payload.size() ? packet : nullptr;
  ++stream.next_received;
  deliver_in_order(message, network_, delivery_);
  while (stream.has_next()) {
    const Chunk next = stream.take_next();
    Incoming early = parse(next.via, next.header, next.payload, rank_count);
    deliver_in_order(early, network_, delivery_);
  }
}

void Engine::handle_control(Rank via, const wire::Header& header, std::span<const std::byte> payload) {
  switch (header.kind) {
    case wire::ChunkKind::cts:
      sender_.handle_cts(via, header, read<wire::Cts>(payload, via));
      break;
    case wire::ChunkKind::refused:
      sender_.handle_refused(header);
      break;
    case wire::ChunkKind::eager_off:
    case wire::ChunkKind::eager_on:
      outbox_.set_rendezvous_only(via, header.kind == wire::ChunkKind::eager_off);
      break;
    case wire::ChunkKind::failed:
      network_.fail(Error{ErrorCode::peer_failed,
                          fmt::format("rank {} stopped the run: {}",
                                      via.value(),
                                      std::string_view{reinterpret_cast<const char*>(payload.data()), payload.size()}),
                          via});
      break;
    case wire::ChunkKind::placed:
      sender_.handle_placed(via, header);
      break;
    case wire::ChunkKind::available:
      receiver_.handle_available(via, header);
      break;
    case wire::ChunkKind::credit:
      break;  // its credits are in the header
    default:
      refuse_packet(via, payload.size());
  }
}

void Engine::handle_bulk(const net::BulkDone& done) {
  if (done.direction == net::TransferDirection::sent) {
    sender_.segment_sent(done.cookie);
    return;
  }
  if (const auto segment = receiver_.segment_arrived(done.cookie)) {
    handle_segment(*segment);
  }
}

void Engine::handle_segment(const RendezvousReceiver::Arrived& segment) {
  const auto& [receive, offset, bytes, is_last] = segment;
  multicast_.segment_arrived(receive, offset, bytes);
  if (!is_last) {
    receiver_.queue(receive);
    return;
  }
  receive.moved = trace_.now();
  completions_.complete(receive, receive.bytes);
  if (receive.one_sided == OneSided::put) {
    one_sided_.note_in_place(receive);
  }
  Operation* const taker = receive.forwarding ? std::exchange(receive.forwarding->taker, nullptr) : nullptr;
  if (taker != nullptr) {
    multicast_.take_staged(*taker, receive);
  }
}

// ---- called by the endpoint ----

void Engine::stop_all(const Error& reason) {
  network_.fail(reason);
  const std::string_view sentence{reason.what()};
  const std::size_t room = network_.driver().packet_bytes_max() - sizeof(wire::Header);
  for (std::uint32_t rank = 0; rank < network_.driver().rank_count(); ++rank) {
    if (Rank{rank} != network_.self()) {
      outbox_.send_control(
          Rank{rank}, {.kind = wire::ChunkKind::failed}, std::as_bytes(std::span{sentence.substr(0, room)}));
    }
  }
  push_out();
}

/// Polls until what was sent is flushed, for a bounded number of times; drops what arrives.
void Engine::push_out() {
  for (int attempt = 0; attempt < push_out_attempts_max; ++attempt) {
    if (network_.driver().is_idle() && outbox_.is_empty()) {
      return;
    }
    const net::Polled polled = network_.poll(events_.arrivals, events_.bulk);
    for (std::size_t i = 0; i < polled.arrivals; ++i) {
      network_.driver().recycle(std::move(events_.arrivals[i].packet));
    }
    outbox_.flush();
  }
}

void Engine::forget_comms(CommId first, std::uint32_t count) noexcept {
  claims_.release(first);
  sequences_.forget(first, count);
}

std::vector<std::string> Engine::never_received() const {
  std::vector<std::string> lines;
  inbox_.matcher().for_each_unexpected([&](const UnexpectedMessage& message) {
    if (!is_internal(message.envelope.comm)) {
      lines.push_back(fmt::format("{} bytes from rank {} with tag {}",
                                  static_cast<const Unexpected&>(message).header.bytes,
                                  message.envelope.source.value(),
                                  message.envelope.tag.value()));
    }
  });
  return lines;
}

}  // namespace plait::comm::detail
