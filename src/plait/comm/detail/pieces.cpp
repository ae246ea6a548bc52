// SPDX-License-Identifier: Apache-2.0
// The transfer of announced messages, piece by piece: the receiver asks for each piece when it has posted a slot for
// it.
#include <algorithm>

#include <fmt/format.h>

#include "plait/comm/detail/engine.hpp"

namespace plait::comm::detail {

// ---- the sender's numbers ----

std::uint64_t Engine::announce(Operation& operation) {
  if (free_announced_.empty()) {
    free_announced_.push_back(static_cast<std::uint32_t>(announced_.size()));
    announced_.push_back(nullptr);
  }
  const std::uint32_t place = free_announced_.back();
  free_announced_.pop_back();
  announced_[place] = &operation;
  operation.was_announced = true;
  operation.announced = (++announced_count_ << 32U) | place;  // no number comes twice, though places do
  return operation.announced;
}

/// The send of that number; null when it is over.
Operation* Engine::announced(std::uint64_t number) const {
  const auto place = static_cast<std::uint32_t>(number);
  Operation* const operation = place < announced_.size() ? announced_[place] : nullptr;
  return operation != nullptr && operation->announced == number ? operation : nullptr;
}

void Engine::end_announcement(std::uint64_t number) {
  const auto place = static_cast<std::uint32_t>(number);
  announced_[place] = nullptr;
  free_announced_.push_back(place);
}

// ---- receiving ----

void Engine::start_bulk_receive(Operation& operation, const Incoming& message) {
  operation.announced = message.header.operation;
  operation.turn = ++turns_;
  if (operation.bytes == 0) {  // a driver moves at least a byte
    send_control(operation.peer, {.kind = wire::Kind::refused, .operation = operation.announced});
    complete(operation, 0);
    return;
  }
  operation.offered = message.offered;
  if (operation.offered < operation.bytes) {
    const auto offer = offers_.try_emplace({operation.peer, operation.announced}).first;
    offer->second.bytes = std::max(offer->second.bytes, operation.offered);
    offer->second.operation = &operation;
    operation.offered = offer->second.bytes;
    if (operation.offered == operation.bytes) {
      offers_.erase(offer);
    }
  }
  want_pieces(operation);
  ask_for_pieces();
}

/// Who passes a multicast on has more of it than before. Nobody asks for what is not there: the slots would be taken by
/// pieces that wait for each other.
void Engine::handle_offer(Rank via, const wire::Header& header) {
  const auto offer = offers_.try_emplace({via, header.operation}).first;
  offer->second.bytes = std::max<std::size_t>(offer->second.bytes, header.bytes);
  Operation* const operation = offer->second.operation;
  if (operation == nullptr) {  // not received yet
    return;
  }
  operation->offered = offer->second.bytes;
  if (operation->offered == operation->bytes) {
    offers_.erase(offer);
  }
  want_pieces(*operation);
  ask_for_pieces();
}

/// So that all that may be under way of one message fits into what may be under way from its peer.
std::size_t Engine::next_piece_bytes(const Operation& operation) const {
  const std::size_t share = peers_[operation.peer.value()]->bulk_bytes_max / options_.pieces_in_flight;
  return std::min({options_.piece_bytes, std::max<std::size_t>(share, 1), operation.bytes - operation.next_offset});
}

/// Lines the receive up when it may ask for another piece.
void Engine::want_pieces(Operation& operation) {
  const std::size_t next = next_piece_bytes(operation);
  if (operation.is_wanting || next == 0 || operation.next_offset + next > operation.offered ||
      operation.pieces_in_flight >= options_.pieces_in_flight) {
    return;
  }
  operation.is_wanting = true;
  wanting_pieces_.emplace(Turn{operation.priority, operation.turn}, &operation);
}

/// The most urgent receive first; of equally urgent ones the oldest, so that what has begun ends soon.
void Engine::ask_for_pieces() {
  while (!wanting_pieces_.empty() && !free_slots_.empty()) {
    Operation& operation = *wanting_pieces_.begin()->second;
    Peer& from = peer(operation.peer);
    if (from.bulk_bytes > 0 && from.bulk_bytes + next_piece_bytes(operation) > from.bulk_bytes_max) {
      from.held_back.insert(wanting_pieces_.extract(wanting_pieces_.begin()));
      continue;
    }
    if (!ask_for_piece(operation)) {
      return;
    }
    wanting_pieces_.erase(wanting_pieces_.begin());
    operation.is_wanting = false;
    want_pieces(operation);
  }
}

/// False when the driver is busy.
bool Engine::ask_for_piece(Operation& operation) try {
  const std::uint32_t slot = free_slots_.back();
  Piece& piece = receiving_[slot];
  const std::size_t bytes = next_piece_bytes(operation);
  std::span<std::byte> memory = operation.together(operation.next_offset, bytes);
  if (memory.empty()) {
    piece.copy.resize(bytes);
    memory = piece.copy;
  }
  if (driver_.receive_bulk({operation.peer, net::BulkSlot{slot}, memory, slot}) == net::Post::retry) {
    return false;
  }
  ++bulk_count_;
  free_slots_.pop_back();
  piece.operation = &operation;
  piece.offset = operation.next_offset;
  piece.bytes = bytes;
  const wire::Ready ready{.offset = operation.next_offset, .bytes = bytes, .slot = slot};
  operation.next_offset += bytes;
  ++operation.pieces_in_flight;
  peer(operation.peer).bulk_bytes += bytes;
  send_control(operation.peer,
               {.kind = wire::Kind::ready, .operation = operation.announced},
               std::as_bytes(std::span{&ready, 1}));
  return true;
} catch (const Error& error) {
  set_failure(error);
  return false;
}

void Engine::piece_received(std::uint64_t slot) {
  Piece& piece = receiving_.at(slot);
  Operation& operation = *std::exchange(piece.operation, nullptr);
  free_slots_.push_back(static_cast<std::uint32_t>(slot));
  if (!piece.copy.empty()) {
    operation.scatter(piece.offset, piece.copy);
    piece.copy = {};
  }
  operation.bytes_moved += piece.bytes;
  --operation.pieces_in_flight;
  Peer& from = peer(operation.peer);
  from.bulk_bytes -= piece.bytes;
  if (!from.held_back.empty()) {
    wanting_pieces_.insert(from.held_back.extract(from.held_back.begin()));
  }
  more_is_available(operation, piece.offset, piece.bytes);
  if (operation.bytes_moved == operation.bytes) {
    all_pieces_are_here(operation);
  } else {
    want_pieces(operation);
  }
}

void Engine::all_pieces_are_here(Operation& operation) {
  operation.moved = now_if_tracing();
  complete(operation, operation.bytes);
  Operation* const taker = operation.forwarding ? std::exchange(operation.forwarding->taker, nullptr) : nullptr;
  if (taker != nullptr) {
    take_from_staging(*taker, operation);
  }
}

// ---- sending ----

void Engine::handle_ready(Rank via, const wire::Header& header, const wire::Ready& ready) {
  Operation* const operation = announced(header.operation);
  if (operation == nullptr || operation->peer != via || ready.offset + ready.bytes > operation->bytes ||
      (&operation->holder() != operation && ready.offset + ready.bytes > operation->holder().forwarding->available)) {
    throw Error{ErrorCode::network,
                fmt::format("rank {} asks for data that was not announced to it: do all ranks run the same version of "
                            "plait?",
                            via.value()),
                via};
  }
  wanted_pieces_.emplace(operation->priority, std::pair{operation, ready});
  send_pieces();
}

/// The most urgent first. Never waits for receives: a flood of them must not keep a send from being posted.
void Engine::send_pieces() {
  while (!wanted_pieces_.empty()) {
    const auto& [operation, ready] = wanted_pieces_.begin()->second;
    if (!send_piece(*operation, ready)) {
      return;
    }
    wanted_pieces_.erase(wanted_pieces_.begin());
  }
}

/// False when the driver is busy.
bool Engine::send_piece(Operation& operation, const wire::Ready& ready) try {
  if (free_cookies_.empty()) {
    free_cookies_.push_back(static_cast<std::uint32_t>(sending_.size()));
    sending_.emplace_back();
  }
  const std::uint32_t cookie = free_cookies_.back();
  Piece& piece = sending_[cookie];
  const Operation& holder = operation.holder();
  std::span<const std::byte> memory = holder.together(ready.offset, ready.bytes);
  if (memory.empty()) {
    piece.copy.resize(ready.bytes);
    holder.gather(ready.offset, piece.copy);
    memory = piece.copy;
  }
  const net::BulkSlot slot{static_cast<std::uint32_t>(ready.slot)};
  if (driver_.send_bulk({operation.peer, slot, memory, cookie}) == net::Post::retry) {
    return false;
  }
  ++bulk_count_;
  is_driver_busy_ = true;
  free_cookies_.pop_back();
  piece.operation = &operation;
  piece.bytes = ready.bytes;
  return true;
} catch (const Error& error) {
  set_failure(error);
  return false;
}

void Engine::piece_sent(std::uint64_t cookie) {
  Piece& piece = sending_.at(cookie);
  Operation& operation = *std::exchange(piece.operation, nullptr);
  piece.copy = {};
  free_cookies_.push_back(static_cast<std::uint32_t>(cookie));
  operation.bytes_moved += piece.bytes;
  if (operation.bytes_moved == operation.bytes) {
    end_announcement(operation.announced);
    operation.moved = now_if_tracing();
    complete(operation, operation.bytes);
  }
}

void Engine::bulk_done(const net::BulkDone& done) {
  --bulk_count_;
  if (done.direction == net::Direction::sent) {
    piece_sent(done.cookie);
  } else {
    piece_received(done.cookie);
  }
}

}  // namespace plait::comm::detail
