// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/all_to_all.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "plait/comm/collectives/detail/all_to_all.hpp"

namespace plait::comm {

namespace {

struct Way {
  AllToAllWay way;
  const char* name;
  Request (*start)(detail::AllToAll);
};

constexpr std::array ways{
    Way{AllToAllWay::direct, "direct", detail::direct_all_to_all},
    Way{AllToAllWay::pairwise, "pairwise", detail::pairwise_all_to_all},
    Way{AllToAllWay::random, "random", detail::random_all_to_all},
    Way{AllToAllWay::chunked, "chunked", detail::chunked_all_to_all},
    Way{AllToAllWay::two_level, "two_level", detail::two_level_all_to_all},
};

const Way& find(AllToAllWay way) {
  return *std::ranges::find(ways, way, &Way::way);
}

template <class Byte>
std::vector<std::span<Byte>> cut(std::span<Byte> data, std::span<const std::size_t> counts, std::size_t element_bytes) {
  std::vector<std::span<Byte>> blocks;
  std::size_t offset = 0;
  for (const std::size_t count : counts) {
    // Compared as counts: a product of wrong counts might wrap round.
    if (element_bytes != 0 && count > (data.size() - offset) / element_bytes) {
      break;
    }
    blocks.push_back(data.subspan(offset, count * element_bytes));
    offset += count * element_bytes;
  }
  if (blocks.size() != counts.size() || offset != data.size()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("{} counts of elements of {} bytes do not add up to the {} bytes of the data",
                            counts.size(),
                            element_bytes,
                            data.size())};
  }
  return blocks;
}

void throw_unless_one_a_member(const Group& group, std::size_t blocks, const char* what) {
  if (blocks != group.size()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("an all-to-all of {} members was given {} blocks to {}", group.size(), blocks, what)};
  }
}

/// The size of the blocks that `bytes` make.
std::size_t block_bytes(const Group& group, std::size_t bytes, const char* what) {
  if (bytes % group.size() != 0) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format("{} bytes to {} are not divided by the {} members of the all-to-all: give blocks of their own",
                    bytes,
                    what,
                    group.size())};
  }
  return bytes / group.size();
}

}  // namespace

BlocksToSend blocks_of(std::span<const std::byte> data,
                       std::span<const std::size_t> counts,
                       std::size_t element_bytes) {
  return cut(data, counts, element_bytes);
}

BlocksToReceive blocks_of(std::span<std::byte> data, std::span<const std::size_t> counts, std::size_t element_bytes) {
  return cut(data, counts, element_bytes);
}

Request all_to_all(const Group& group, BlocksToSend to, BlocksToReceive from, const AllToAllOptions& options) {
  throw_unless_one_a_member(group, to.size(), "send");
  throw_unless_one_a_member(group, from.size(), "receive");
  const std::size_t self = group.self();
  if (to[self].size() != from[self].size()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("member {} of an all-to-all sends itself {} bytes and expects {}",
                            self,
                            to[self].size(),
                            from[self].size())};
  }
  if (options.piece_bytes == 0 || options.in_flight_max == 0) {
    throw Error{ErrorCode::bad_argument, "an all-to-all needs pieces of 1 byte at least, and 1 in flight"};
  }
  // The sizes differ from rank to rank, the way must not: it is chosen by the group alone.
  const AllToAllWay way = options.way == AllToAllWay::automatic ? choose_all_to_all(group.size(), 0) : options.way;
  return find(way).start({detail::Call{group}, std::move(to), std::move(from), options});
}

Request all_to_all(const Group& group,
                   std::span<const std::byte> to,
                   std::span<std::byte> from,
                   const AllToAllOptions& options) {
  const std::size_t bytes = block_bytes(group, to.size(), "send");
  const std::vector<std::size_t> counts(group.size(), bytes);
  (void)block_bytes(group, from.size(), "receive");
  AllToAllOptions chosen = options;
  if (options.way == AllToAllWay::automatic) {
    chosen.way = choose_all_to_all(group.size(), bytes);
  }
  return all_to_all(group, cut(to, counts, 1), cut(from, counts, 1), chosen);
}

AllToAllWay choose_all_to_all(std::size_t members, std::size_t block_bytes) noexcept {
  constexpr std::size_t block_bytes_max = 32768;
  constexpr std::size_t members_max = 32;
  return block_bytes > block_bytes_max && members > members_max ? AllToAllWay::pairwise : AllToAllWay::direct;
}

const char* to_string(AllToAllWay way) noexcept {
  return way == AllToAllWay::automatic ? "automatic" : find(way).name;
}

AllToAllWay all_to_all_way(std::string_view name) {
  std::string known = "automatic";
  if (name == known) {
    return AllToAllWay::automatic;
  }
  for (const Way& way : ways) {
    if (name == way.name) {
      return way.way;
    }
    known.append(", ").append(way.name);
  }
  throw Error{ErrorCode::bad_argument, fmt::format("no way of an all-to-all is called {}: there are {}", name, known)};
}

namespace detail {

void AllToAll::copy_own() noexcept {
  const std::size_t self = call.self();
  if (!to[self].empty()) {
    std::memcpy(from[self].data(), to[self].data(), to[self].size());
  }
}

}  // namespace detail

}  // namespace plait::comm
