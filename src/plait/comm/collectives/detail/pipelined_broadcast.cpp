// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "plait/comm/collectives/detail/broadcast.hpp"
#include "plait/comm/collectives/detail/pieces.hpp"
#include "plait/comm/coroutine.hpp"

namespace plait::comm::detail {

namespace {

/// Receives posted ahead, and sends not waited for.
constexpr std::size_t in_flight_max = 4;

AsyncOperation send_pieces(Endpoint& /*endpoint*/, Broadcast broadcast) {
  Call& call = broadcast.call;
  const std::span<const std::byte> data = broadcast.data;
  std::deque<Request> sends;
  for (std::size_t piece = 0; piece < piece_count(data.size(), broadcast.piece_bytes); ++piece) {
    if (sends.size() == in_flight_max) {
      Request oldest = std::move(sends.front());
      sends.pop_front();
      co_await call.end_of(std::move(oldest));
    }
    sends.push_back(call.send(broadcast.member(1), piece_of(data, piece, broadcast.piece_bytes)));
  }
  for (Request& request : sends) {
    Request next = std::move(request);
    co_await call.end_of(std::move(next));
  }
  call.throw_if_failed();
}

AsyncOperation pass_pieces_on(Endpoint& /*endpoint*/, Broadcast broadcast) {
  Call& call = broadcast.call;
  const std::size_t place = broadcast.place();
  const std::size_t source = broadcast.member(place - 1);
  const std::size_t count = piece_count(broadcast.data.size(), broadcast.piece_bytes);
  const bool is_end = place + 1 == call.size();
  std::deque<Request> receives;
  std::deque<Request> sends;
  std::size_t posted = 0;
  std::size_t length = 0;
  for (std::size_t piece = 0; piece < count && !call.has_failed(); ++piece) {
    for (; posted < count && receives.size() < in_flight_max; ++posted) {
      receives.push_back(call.receive(source, piece_of(broadcast.data, posted, broadcast.piece_bytes)));
    }
    const std::span<const std::byte> data = piece_of(broadcast.data, piece, broadcast.piece_bytes);
    Request received = std::move(receives.front());
    receives.pop_front();
    length = co_await call.length_of(std::move(received), data.size());
    if (is_end) {
      continue;
    }
    if (sends.size() == in_flight_max) {
      Request oldest = std::move(sends.front());
      sends.pop_front();
      co_await call.end_of(std::move(oldest));
    }
    // An empty piece ends the stream of those behind.
    sends.push_back(call.send(broadcast.member(place + 1), call.has_failed() ? std::span<const std::byte>{} : data));
  }
  // After an error: what comes no more is taken back, what comes too much is taken in.
  for (Request& receive : receives) {
    if (length < broadcast.piece_bytes && receive.cancel()) {
      continue;
    }
    Request next = std::move(receive);
    length = co_await call.length_of(std::move(next), broadcast.piece_bytes);
  }
  while (length >= broadcast.piece_bytes && !call.endpoint().failure()) {
    Request rest = call.receive(source, std::span<std::byte>{});
    length = co_await call.length_of(std::move(rest), 0);
  }
  for (Request& request : sends) {
    Request next = std::move(request);
    co_await call.end_of(std::move(next));
  }
  call.throw_if_failed();
}

AsyncOperation nothing(Endpoint& /*endpoint*/) {
  co_return;
}

}  // namespace

Request pipelined_broadcast(Broadcast broadcast) {
  Endpoint& endpoint = broadcast.call.endpoint();
  if (broadcast.call.size() == 1) {
    return nothing(endpoint);
  }
  return broadcast.place() == 0 ? send_pieces(endpoint, std::move(broadcast))
                                : pass_pieces_on(endpoint, std::move(broadcast));
}

}  // namespace plait::comm::detail
