// SPDX-License-Identifier: Apache-2.0
// What comes in, and what becomes of it.
#include "plait/comm/detail/engine.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <set>

#include <fmt/format.h>

namespace plait::comm::detail {

namespace {

constexpr std::size_t events_of_a_poll_max = 16;

std::uint32_t credits_of_a_peer(const EndpointOptions& options, const net::Driver& driver) {
  const std::size_t fit = options.packet_memory_bytes_max / (driver.packet_bytes_max() * driver.rank_count());
  const auto most = std::max<std::size_t>(2, std::min<std::size_t>(32, driver.packets_in_flight_max() / 2));
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(fit, 2, most));
}

[[noreturn]] void refuse_packet(Rank via, std::size_t bytes) {
  throw Error{
      ErrorCode::network,
      fmt::format("a packet of {} bytes from rank {} makes no sense: do all ranks run the same version of plait?",
                  bytes,
                  via.value()),
      via};
}

template <class Part>
Part read(std::span<const std::byte> bytes, Rank via) {
  if (bytes.size() < sizeof(Part)) {
    refuse_packet(via, bytes.size());
  }
  Part part;
  std::memcpy(&part, bytes.data(), sizeof part);
  return part;
}

}  // namespace

Engine::Engine(net::Driver& driver, trace::Recorder& recorder, const EndpointOptions& options)
    : driver_{driver},
      recorder_{recorder},
      trace_{recorder.thread(WorkerId{}, "network")},
      options_{options},
      eager_bytes_max_{std::min(options.eager_bytes_max, driver.packet_bytes_max() - sizeof(wire::Header))},
      credits_of_a_peer_{detail::credits_of_a_peer(options, driver)},
      is_tracing_{recorder.is_on()},
      gathers_{make_packing(options.packing)->gathers()},
      receiving_(driver.bulk_slot_count()),
      arrivals_(events_of_a_poll_max),
      bulk_done_(events_of_a_poll_max) {
  if (options.piece_bytes == 0 || options.pieces_in_flight == 0) {
    throw Error{ErrorCode::bad_argument, "a piece of a message has at least a byte, and at least one is under way"};
  }
  for (std::uint32_t rank = 0; rank < driver.rank_count(); ++rank) {
    peers_.push_back(std::make_unique<Peer>());
    peers_.back()->credits = credits_of_a_peer_;
    peers_.back()->waiting = make_packing(options.packing);
    peers_.back()->bulk_bytes_max = driver.bulk_in_flight_max(Rank{rank});
  }
  for (std::uint32_t slot = driver.bulk_slot_count(); slot-- > 0;) {
    free_slots_.push_back(slot);
  }
}

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
  matcher_.for_each_posted(
      [&](const PostedReceive& receive) { add(const_cast<Operation*>(static_cast<const Operation*>(&receive))); });
  matcher_.for_each_unexpected([&](const UnexpectedMessage& message) {
    const auto* const full = static_cast<const Unexpected*>(&message);
    if (full->staging != nullptr && (!full->staging->is_over || full->staging->forwards_left > 0)) {
      add(full->staging);
    }
    release(full->staging);  // the message's own count
    delete full;
  });
  for (const auto& peer : peers_) {
    for (; !peer->waiting->is_empty(); peer->waiting->pop()) {
      add(static_cast<Operation*>(peer->waiting->front(0)));
    }
    for (const auto& [priority, operation] : peer->held_back) {
      add(operation);
    }
  }
  std::ranges::for_each(announced_, add);
  for (const Piece& piece : receiving_) {
    add(piece.operation);
  }
  for (const auto& [priority, operation] : wanting_pieces_) {
    add(operation);
  }
  for (const auto& [announcement, offer] : offers_) {
    add(offer.operation);
  }
  std::ranges::for_each(left, release);
}

// ---- asked by the endpoint ----

void Engine::receive(Operation& operation) {
  ++outstanding_;
  operation.posted = now_if_tracing();
  if (UnexpectedMessage* const message = matcher_.post(operation)) {
    give_unexpected(operation, std::unique_ptr<Unexpected>{static_cast<Unexpected*>(message)});
  }
}

void Engine::receive_claimed(Operation& operation, std::unique_ptr<Unexpected> message) {
  ++outstanding_;
  operation.posted = now_if_tracing();
  give_unexpected(operation, std::move(message));
}

bool Engine::cancel(Operation& operation) {
  if (operation.direction != net::Direction::received || !matcher_.cancel(operation)) {
    return false;
  }
  --outstanding_;
  return true;
}

const Unexpected* Engine::probe(const Envelope& envelope) {
  return static_cast<const Unexpected*>(matcher_.probe(envelope));
}

std::unique_ptr<Unexpected> Engine::claim(const Envelope& envelope) {
  return std::unique_ptr<Unexpected>{static_cast<Unexpected*>(matcher_.claim(envelope))};
}

void Engine::drop(std::unique_ptr<Unexpected> message) {
  forget_memory(*message);
  if (message->staging != nullptr) {
    release(message->staging);
  } else if (!message->stops.empty()) {
    (void)stage(incoming(*message));
  } else if (wire::is_announcement(message->header.kind)) {
    offers_.erase({message->via, message->header.operation});
    send_control(message->via, {.kind = wire::Kind::refused, .operation = message->header.operation});
  }
  if (message->packet) {
    driver_.recycle(std::move(message->packet));
  }
}

bool Engine::has_left_all() const {
  return has_left_what_may() && free_announced_.size() == announced_.size();
}

bool Engine::has_left_what_may() const {
  return with_backlog_.empty() && wanted_pieces_.empty() && driver_.is_idle();
}

std::vector<std::string> Engine::never_received() const {
  std::vector<std::string> lines;
  matcher_.for_each_unexpected([&](const UnexpectedMessage& message) {
    if (is_internal(message.envelope.comm)) {
      return;
    }
    lines.push_back(fmt::format("{} bytes from rank {} with tag {}",
                                static_cast<const Unexpected&>(message).header.bytes,
                                message.envelope.source.value(),
                                message.envelope.tag.value()));
  });
  return lines;
}

void Engine::set_failure(const Error& reason) {
  if (!failure_) {
    failure_ = reason;
  }
}

void Engine::stop_all(const Error& reason) {
  set_failure(reason);
  const std::string_view sentence{reason.what()};
  const auto text = std::as_bytes(std::span{sentence.substr(0, driver_.packet_bytes_max() - sizeof(wire::Header))});
  for (std::uint32_t rank = 0; rank < peers_.size(); ++rank) {
    if (Rank{rank} != driver_.self()) {
      try {
        send_control(Rank{rank}, {.kind = wire::Kind::failed}, text);
      } catch (const Error&) {
        continue;  // this one is gone: the others shall hear all the same
      }
    }
  }
  push_out();
}

// ---- coming in ----

std::size_t Engine::poll() {
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
  if (!wanting_pieces_.empty()) {
    ask_for_pieces();
  }
  if (!wanted_pieces_.empty()) {
    send_pieces();
  }
  if (!with_credits_to_return_.empty()) {
    return_credits();
  }
  if (!with_backlog_.empty()) {
    leave_from_backlog();
  }
  is_driver_busy_ = is_driver_busy_ && !driver_.is_idle();
  return polled.arrivals + polled.bulk;
}

void Engine::handle(net::Arrival arrival) {
  const std::span<const std::byte> bytes = arrival.packet.bytes();
  const auto first = read<wire::Header>(bytes, arrival.peer);
  peer(arrival.peer).credits += first.credits;
  const bool is_alone = wire::aligned(sizeof first + first.payload) >= bytes.size();
  bool has_message = false;
  for (std::size_t offset = 0; offset < bytes.size();) {
    const auto header = read<wire::Header>(bytes.subspan(offset), arrival.peer);
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
    if (!arrival.packet) {  // kept as it is
      break;
    }
  }
  if (has_message) {
    ++peer(arrival.peer).credits_to_return;
    if (!std::exchange(peer(arrival.peer).is_in_credit_list, true)) {
      with_credits_to_return_.push_back(arrival.peer);
    }
  }
  if (arrival.packet) {
    driver_.recycle(std::move(arrival.packet));
  }
}

void Engine::handle_control(Rank via, const wire::Header& header, std::span<const std::byte> payload) {
  switch (header.kind) {
    case wire::Kind::ready:
      handle_ready(via, header, read<wire::Ready>(payload, via));
      break;
    case wire::Kind::refused: {
      Operation* const operation = announced(header.operation);
      expect(operation != nullptr, "only what was announced is refused");
      end_announcement(header.operation);
      complete(*operation, operation->bytes);
      break;
    }
    case wire::Kind::eager_off:
    case wire::Kind::eager_on:
      peer(via).may_only_announce = header.kind == wire::Kind::eager_off;
      break;
    case wire::Kind::failed:
      set_failure(Error{ErrorCode::peer_failed,
                        fmt::format("rank {} stopped the run: {}",
                                    via.value(),
                                    std::string_view{reinterpret_cast<const char*>(payload.data()), payload.size()}),
                        via});
      break;
    case wire::Kind::offer:
      handle_offer(via, header);
      break;
    case wire::Kind::credit:
      break;  // the header has said it all
    default:
      refuse_packet(via, payload.size());
  }
}

/// Reads a message's chunk. What it refers to stands in the payload.
Engine::Incoming Engine::parse(Rank via, const wire::Header& header, std::span<const std::byte> payload) const {
  Incoming message{.header = header, .source = via, .via = via, .data = payload, .offered = header.bytes};
  if (header.kind == wire::Kind::multicast || header.kind == wire::Kind::multicast_request) {
    const auto route = read<wire::Route>(payload, via);
    const std::size_t stops_bytes = route.stop_count * sizeof(wire::Stop);
    if (route.origin >= peers_.size() || payload.size() < sizeof route + stops_bytes) {
      refuse_packet(via, payload.size());
    }
    message.source = Rank{route.origin};
    message.offered = route.offered;
    message.stops = {reinterpret_cast<const wire::Stop*>(payload.data() + sizeof route), route.stop_count};
    message.data = payload.subspan(sizeof route + stops_bytes);
  }
  return message;
}

/// Messages of one source and communicator are delivered in the order in which they were sent, whichever way they came.
void Engine::handle_message(Rank via,
                            const wire::Header& header,
                            std::span<const std::byte> payload,
                            net::Packet* packet) {
  Incoming message = parse(via, header, payload);
  Stream& stream = peer(message.source).stream(CommId{header.comm});
  if (header.sequence != stream.next_received) {
    stream.early.emplace(header.sequence, Chunk{header, Bytes{payload.begin(), payload.end()}, via});
    return;
  }
  message.packet = message.stops.empty() && message.data.size() == payload.size() ? packet : nullptr;
  ++stream.next_received;
  deliver(message);
  while (!stream.early.empty() && stream.early.begin()->first == stream.next_received) {
    const Chunk next = std::move(stream.early.begin()->second);
    stream.early.erase(stream.early.begin());
    ++stream.next_received;
    deliver(parse(next.via, next.header, next.payload));
  }
}

void Engine::deliver(const Incoming& message) {
  using enum wire::Kind;
  if (message.header.kind == active || message.header.kind == active_request) {
    deliver_active(message);
    return;
  }
  PostedReceive* const receive = matcher_.match({CommId{message.header.comm}, message.source, Tag{message.header.tag}});
  if (receive == nullptr) {
    keep_unexpected(message);
  } else {
    auto& operation = static_cast<Operation&>(*receive);
    operation.peer = message.via;
    operation.source = message.source;
    operation.handed = now_if_tracing();
    operation.moved = operation.handed;
    if (message.header.kind == multicast_request && !message.stops.empty()) {
      deliver_announced_multicast(operation, message);
    } else {
      give(operation, message);
    }
  }
  if (message.header.kind == multicast && !message.stops.empty()) {
    forward_short(message);
  }
}

void Engine::deliver_active(const Incoming& message) {
  const wire::Header& header = message.header;
  if (header.kind == wire::Kind::active) {
    active.push_back({HandlerId{static_cast<std::uint32_t>(header.tag)},
                      message.source,
                      Bytes{message.data.begin(), message.data.end()}});
    return;
  }
  auto* const operation = new Operation;
  operation->direction = net::Direction::received;
  operation->is_active_message = true;
  operation->growing = &operation->owned;
  operation->peer = message.via;
  operation->source = message.source;
  operation->comm = CommId{header.comm};
  operation->posted = now_if_tracing();
  operation->handed = operation->posted;
  ++outstanding_;
  give(*operation, message);
}

void Engine::keep_unexpected(const Incoming& message) {
  auto kept = std::make_unique<Unexpected>();
  kept->envelope = {CommId{message.header.comm}, message.source, Tag{message.header.tag}};
  kept->header = message.header;
  kept->via = message.via;
  kept->offered = message.offered;
  kept->arrived = now_if_tracing();
  Peer& source = peer(message.source);
  if (message.header.kind == wire::Kind::multicast_request && !message.stops.empty()) {
    if (source.unexpected_bytes + message.header.bytes <= options_.unexpected_bytes_max) {
      kept->staging = &stage(message);
      acquire(*kept->staging);
      kept->memory_bytes = message.header.bytes;
    } else {
      kept->stops.assign(message.stops.begin(), message.stops.end());  // those behind this rank wait with it
    }
  } else if (message.packet != nullptr && message.data.size() * 2 >= message.packet->capacity()) {
    kept->packet = std::move(*message.packet);
    kept->memory_bytes = kept->packet.capacity();
  } else {
    kept->data.assign(message.data.begin(), message.data.end());
    kept->memory_bytes = kept->data.size();
  }
  source.unexpected_bytes += kept->memory_bytes;
  if (source.unexpected_bytes > options_.unexpected_bytes_max && !std::exchange(source.was_told_to_announce, true)) {
    send_control(message.source, {.kind = wire::Kind::eager_off});
  }
  matcher_.keep(*kept.release());  // taken back by whoever takes it out of the matcher, or the destructor
}

void Engine::forget_memory(const Unexpected& message) {
  Peer& source = peer(message.envelope.source);
  source.unexpected_bytes -= message.memory_bytes;
  if (source.was_told_to_announce && source.unexpected_bytes * 2 < options_.unexpected_bytes_max) {
    source.was_told_to_announce = false;
    send_control(message.envelope.source, {.kind = wire::Kind::eager_on});
  }
}

void Engine::give_unexpected(Operation& operation, std::unique_ptr<Unexpected> message) {
  forget_memory(*message);
  operation.peer = message->via;
  operation.source = message->envelope.source;
  operation.handed = now_if_tracing();
  operation.moved = message->arrived;
  if (message->staging != nullptr) {
    take_from_staging(operation, *message->staging);
  } else if (!message->stops.empty()) {
    deliver_announced_multicast(operation, incoming(*message));
  } else {
    give(operation, incoming(*message));
  }
  if (message->packet) {
    driver_.recycle(std::move(message->packet));
  }
}

/// A kept message as it came in.
Engine::Incoming Engine::incoming(const Unexpected& message) {
  const std::span<const std::byte> data =
      message.packet ? message.packet.bytes().subspan(sizeof(wire::Header), message.header.payload) : message.data;
  return {.header = message.header,
          .source = message.envelope.source,
          .via = message.via,
          .data = data,
          .offered = message.offered,
          .stops = message.stops};
}

/// Hands a matched message to its receive: the data, or the wish to have it sent.
void Engine::give(Operation& operation, const Incoming& message) {
  const bool is_announced = wire::is_announcement(message.header.kind);
  if (!make_room(operation, message.header)) {
    if (is_announced) {
      offers_.erase({message.via, message.header.operation});
      send_control(message.via, {.kind = wire::Kind::refused, .operation = message.header.operation});
    }
  } else if (is_announced) {
    start_bulk_receive(operation, message);
  } else {
    operation.scatter(0, message.data);
    complete(operation, message.header.bytes);
  }
}

/// Notes which message the receive has got, and makes its buffer fit. False when that cannot be: then it is completed
/// with the error.
bool Engine::make_room(Operation& operation, const wire::Header& header) {
  operation.tag = Tag{header.tag};
  operation.sequence = header.sequence;
  operation.priority = header.priority;
  operation.bytes = header.bytes;
  operation.was_announced = wire::is_announcement(header.kind);
  if (operation.growing != nullptr) {
    try {
      operation.growing->resize(header.bytes);
    } catch (const std::exception&) {  // bad_alloc or length_error
      complete(operation, header.bytes, ErrorCode::out_of_memory);
      return false;
    }
    operation.memory = *operation.growing;
  }
  if (header.bytes > operation.room()) {
    complete(operation, header.bytes, ErrorCode::truncated);
    return false;
  }
  return true;
}

// ---- completion ----

void Engine::complete(Operation& operation, std::size_t bytes, std::optional<ErrorCode> error) {
  const bool is_send = operation.direction == net::Direction::sent;
  operation.status = {is_send ? driver_.self() : operation.source, operation.tag, bytes, operation.sequence, error};
  --outstanding_;
  operation.is_over = true;
  operation.is_released_at_completion = operation.forwards_left == 0;
  if (is_tracing_ && !operation.is_silent) {
    record(operation);
  }
  if (operation.is_active_message && !is_send && !error) {
    active.push_back(
        {HandlerId{static_cast<std::uint32_t>(operation.tag.value())}, operation.source, std::move(operation.owned)});
  }
  operation.next_completed = nullptr;
  (completed_.first == nullptr ? completed_.first : completed_.last->next_completed) = &operation;
  completed_.last = &operation;
  if (is_send && operation.forwarding && operation.forwarding->source != nullptr) {
    forward_done(*operation.forwarding->source, operation);
  }
}

void Engine::released(Operation& operation) {
  operation.next_released = nullptr;
  (released_.first == nullptr ? released_.first : released_.last->next_released) = &operation;
  released_.last = &operation;
}

void Engine::record(const Operation& operation) {
  using trace::MessageDirection;
  using trace::Protocol;
  const bool is_send = operation.direction == net::Direction::sent;
  trace::MessageEvent event{.direction = is_send ? MessageDirection::sent : MessageDirection::received,
                            .protocol = operation.is_active_message ? Protocol::active_message
                                        : operation.was_announced   ? Protocol::rendezvous
                                                                    : Protocol::eager,
                            .peer = is_send ? operation.peer : operation.source,
                            .communicator = operation.comm.value(),
                            .sequence = operation.sequence,
                            .tag = operation.tag,
                            .bytes = operation.status.bytes,
                            .posted = operation.posted,
                            .handed = operation.handed,
                            .moved = operation.moved,
                            .completed = recorder_.now()};
  if (!is_send || !operation.forwarding) {
    trace_.message(event);
    return;
  }
  for (const wire::Stop& stop : operation.forwarding->stops) {  // a multicast is a message to each
    event.peer = Rank{stop.rank};
    event.sequence = stop.sequence;
    trace_.message(event);
  }
}

void Engine::record_poll_gap() {
  const nanoseconds now = recorder_.now();
  if (now - last_poll_ > options_.poll_gap_min && outstanding_ > 0) {
    trace_.poll_gap({.start = last_poll_, .end = now});
  }
  last_poll_ = now;
}

}  // namespace plait::comm::detail
