// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/broadcast.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/comm/collectives/detail/call.hpp"
#include "plait/comm/collectives/detail/node_levels.hpp"
#include "plait/comm/collectives/detail/spread.hpp"
#include "plait/comm/coroutine.hpp"

namespace plait::comm {

namespace {

using detail::Call;

/// A broadcast whose arguments are checked.
struct Broadcast : Call {
  std::vector<std::size_t> order;  ///< The members, in the order of the pipeline.
  std::span<std::byte> data;
  std::size_t piece_bytes = 1;

  /// This rank's place, counted from the root; and the member at a place.
  [[nodiscard]] std::size_t place() const {
    return static_cast<std::size_t>(std::ranges::find(order, self()) - order.begin());
  }
  [[nodiscard]] std::size_t member(std::size_t at_place) const { return order[at_place]; }
};

// Large data as pieces of `piece_bytes`, then a smaller, perhaps empty one, which marks the end for any expected size.

constexpr std::size_t piece_count(std::size_t bytes, std::size_t piece_bytes) noexcept {
  return bytes / piece_bytes + 1;
}

template <class Byte>
constexpr std::span<Byte> piece_of(std::span<Byte> data, std::size_t piece, std::size_t piece_bytes) {
  const std::size_t offset = piece * piece_bytes;
  return data.subspan(offset, std::min(piece_bytes, data.size() - offset));
}

/// Receives posted ahead, and sends not waited for.
constexpr std::size_t in_flight_max = 4;

AsyncOperation send_pieces(Broadcast broadcast) {
  Call& call = broadcast;
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
    co_await call.end_of(std::move(request));
  }
  call.throw_if_failed();
}

AsyncOperation forward_pieces(Broadcast broadcast) {
  Call& call = broadcast;
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
    co_await call.end_of(received, data.size());
    length = received.result().bytes;  // also of a message that was lost
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
  // After an error: cancels receives that no message will match, and receives superfluous messages.
  for (Request& receive : receives) {
    if (length < broadcast.piece_bytes && receive.cancel()) {
      continue;
    }
    co_await call.end_of(receive, broadcast.piece_bytes);
    length = receive.result().bytes;
  }
  while (length >= broadcast.piece_bytes && !call.endpoint().failure()) {
    Request rest = call.receive(source, std::span<std::byte>{});
    co_await call.end_of(rest, 0);
    length = rest.result().bytes;
  }
  for (Request& request : sends) {
    co_await call.end_of(std::move(request));
  }
  call.throw_if_failed();
}

AsyncOperation nothing(Broadcast /*broadcast*/) {
  co_return;
}

}  // namespace

Request broadcast(const Group& group, std::size_t root, std::span<std::byte> data, const BroadcastOptions& options) {
  if (root >= group.size()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("member {} is the root of a broadcast among {} members", root, group.size())};
  }
  require(options.piece_bytes > 0, "a broadcast needs piece_bytes of at least 1");
  BroadcastWay way = options.way;
  if (way == BroadcastWay::automatic) {
    way = choose_broadcast(group.size(), data.size(), options.piece_bytes);
  }
  Call call{group};
  if (way != BroadcastWay::pipelined) {
    return detail::spread(std::move(call), root, data);
  }
  std::vector<std::size_t> order = detail::order_by_node(call, root);
  Broadcast checked{std::move(call), std::move(order), data, options.piece_bytes};
  return group.size() == 1      ? nothing(std::move(checked))
         : checked.place() == 0 ? send_pieces(std::move(checked))
                                : forward_pieces(std::move(checked));
}

BroadcastWay choose_broadcast(std::size_t members, std::size_t bytes, std::size_t piece_bytes) noexcept {
  constexpr std::size_t pieces_min = 8;
  const std::size_t pieces = bytes / piece_bytes;
  const auto rounds = static_cast<std::size_t>(std::bit_width(std::max<std::size_t>(members, 1) - 1));
  const bool is_pipelined = members > 2 && pieces >= pieces_min && pieces + members - 2 < rounds * pieces;
  return is_pipelined ? BroadcastWay::pipelined : BroadcastWay::multicast;
}

}  // namespace plait::comm
