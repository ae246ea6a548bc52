// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "plait/comm/collectives/detail/all_to_all.hpp"
#include "plait/comm/collectives/detail/pieces.hpp"
#include "plait/comm/coroutine.hpp"

namespace plait::comm::detail {

namespace {

// Both sides take the pairs of ranks in the same order, by the distance between them, and the pieces of a pair in
// order. So the earliest piece that is not through is posted by its sender and its receiver, and nobody waits in a
// circle.

struct Piece {
  std::size_t member = 0;
  std::size_t number = 0;
  Request request;
};

AsyncOperation send_pieces(Endpoint& /*endpoint*/, AllToAll exchange) {
  Call& call = exchange.call;
  const std::size_t piece_bytes = exchange.options.piece_bytes;
  std::deque<Request> under_way;
  for (std::size_t distance = 1; distance < call.size(); ++distance) {
    const std::size_t target = call.after(distance);
    const std::span<const std::byte> block = exchange.to[target];
    for (std::size_t piece = 0; piece < piece_count(block.size(), piece_bytes); ++piece) {
      if (under_way.size() == exchange.options.in_flight_max) {
        Request oldest = std::move(under_way.front());
        under_way.pop_front();
        co_await call.end_of(std::move(oldest));
      }
      under_way.push_back(call.send(target, piece_of(block, piece, piece_bytes)));
    }
  }
  for (Request& request : under_way) {
    Request next = std::move(request);
    co_await call.end_of(std::move(next));
  }
  call.throw_if_failed();
}

/// The receives of one rank, piece after piece.
class PieceReceives {
 public:
  explicit PieceReceives(AllToAll& exchange) : exchange_{&exchange} {}

  [[nodiscard]] bool may_post() const {
    return distance_ < exchange_->call.size() && under_way_.size() < exchange_->options.in_flight_max;
  }
  void post_next() {
    const std::size_t member = exchange_->call.before(distance_);
    under_way_.push_back({member, piece_, exchange_->call.receive(member, buffer(member, piece_))});
    if (++piece_ == piece_count(exchange_->from[member].size(), piece_bytes())) {
      ++distance_;
      piece_ = 0;
    }
  }
  [[nodiscard]] bool is_empty() const { return under_way_.empty(); }
  [[nodiscard]] Piece pop() {
    Piece piece = std::move(under_way_.front());
    under_way_.pop_front();
    return piece;
  }
  [[nodiscard]] std::span<std::byte> buffer(std::size_t member, std::size_t piece) const {
    return piece_of(exchange_->from[member], piece, piece_bytes());
  }
  [[nodiscard]] bool is_last(const Piece& piece) const {
    return piece.number + 1 == piece_count(exchange_->from[piece.member].size(), piece_bytes());
  }
  /// No piece of `member` comes after the one that came last.
  void give_up(std::size_t member) {
    // Also too late for those that an error has ended.
    std::erase_if(under_way_, [&](Piece& piece) { return piece.member == member && piece.request.cancel(); });
    if (distance_ < exchange_->call.size() && exchange_->call.before(distance_) == member) {
      ++distance_;
      piece_ = 0;
    }
  }

 private:
  [[nodiscard]] std::size_t piece_bytes() const { return exchange_->options.piece_bytes; }

  AllToAll* exchange_;
  std::size_t distance_ = 1;
  std::size_t piece_ = 0;
  std::deque<Piece> under_way_;
};

AsyncOperation chunked(Endpoint& endpoint, AllToAll exchange) {
  Call& call = exchange.call;
  const std::size_t piece_bytes = exchange.options.piece_bytes;
  exchange.take_own();
  Request sent = send_pieces(endpoint, exchange);
  PieceReceives receives{exchange};
  std::vector<bool> is_wrong(call.size());
  while (true) {
    while (receives.may_post()) {
      receives.post_next();
    }
    if (receives.is_empty()) {
      break;
    }
    Piece piece = receives.pop();
    const std::size_t expected = receives.buffer(piece.member, piece.number).size();
    std::size_t length = co_await call.length_of(std::move(piece.request), expected);
    if (length != expected) {
      is_wrong[piece.member] = true;
    }
    if (!receives.is_last(piece)) {
      if (length < piece_bytes) {
        receives.give_up(piece.member);
      }
      continue;
    }
    while (length >= piece_bytes &&
           !call.endpoint().failure()) {  // more than expected: its sender must not be left waiting
      Request rest = call.receive(piece.member, std::span<std::byte>{});
      length = co_await call.length_of(std::move(rest), 0);
    }
    if (!is_wrong[piece.member]) {
      exchange.tell(piece.member);
    }
  }
  co_await call.end_of(std::move(sent));
  call.throw_if_failed();
}

}  // namespace

Request chunked_all_to_all(AllToAll exchange) {
  Endpoint& endpoint = exchange.call.endpoint();
  return chunked(endpoint, std::move(exchange));
}

}  // namespace plait::comm::detail
