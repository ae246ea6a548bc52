// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/broadcast.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "plait/comm/collectives/detail/broadcast.hpp"

namespace plait::comm {

namespace {

struct Way {
  BroadcastWay way;
  const char* name;
  Request (*start)(detail::Broadcast);
};

constexpr std::array ways{
    Way{BroadcastWay::binomial, "binomial", detail::binomial_broadcast},
    Way{BroadcastWay::multicast, "multicast", detail::multicast_broadcast},
    Way{BroadcastWay::pipelined, "pipelined", detail::pipelined_broadcast},
};

const Way& find(BroadcastWay way) {
  return *std::ranges::find(ways, way, &Way::way);
}

}  // namespace

Request broadcast(const Group& group, std::size_t root, std::span<std::byte> data, const BroadcastOptions& options) {
  if (root >= group.size()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("member {} is the root of a broadcast among {} members", root, group.size())};
  }
  if (options.piece_bytes == 0) {
    throw Error{ErrorCode::bad_argument, "a broadcast needs pieces of 1 byte at least"};
  }
  BroadcastWay way = options.way;
  if (way == BroadcastWay::automatic) {
    way = choose_broadcast(group.size(), data.size(), options.piece_bytes);
  }
  return find(way).start({detail::Call{group}, root, data, options.piece_bytes});
}

BroadcastWay choose_broadcast(std::size_t members, std::size_t bytes, std::size_t piece_bytes) noexcept {
  constexpr std::size_t pieces_min = 8;
  const std::size_t pieces = bytes / piece_bytes;
  const auto rounds = static_cast<std::size_t>(std::bit_width(std::max<std::size_t>(members, 1) - 1));
  const bool is_pipelined = members > 2 && pieces >= pieces_min && pieces + members - 2 < rounds * pieces;
  return is_pipelined ? BroadcastWay::pipelined : BroadcastWay::multicast;
}

const char* to_string(BroadcastWay way) noexcept {
  return way == BroadcastWay::automatic ? "automatic" : find(way).name;
}

}  // namespace plait::comm
