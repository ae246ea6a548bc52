// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/all_to_all.hpp"

#include <cstring>

#include <fmt/format.h>

#include "plait/comm/collectives/detail/call.hpp"
#include "plait/comm/coroutine.hpp"

namespace plait::comm {

namespace {

using detail::Call;

/// All messages at once.
AsyncOperation direct(Call call, BlocksToSend to, BlocksToReceive from) {
  std::vector<Request> receives;
  std::vector<Request> sends;
  for (std::size_t distance = 1; distance < call.size(); ++distance) {
    receives.push_back(call.receive(call.before(distance), from[call.before(distance)]));
  }
  for (std::size_t distance = 1; distance < call.size(); ++distance) {
    sends.push_back(call.send(call.after(distance), to[call.after(distance)]));
  }
  for (std::size_t distance = 1; distance < call.size(); ++distance) {
    co_await call.end_of(std::move(receives[distance - 1]), from[call.before(distance)].size());
  }
  for (Request& request : sends) {
    co_await call.end_of(std::move(request));
  }
  call.throw_if_failed();
}

AsyncOperation pairwise(Call call, BlocksToSend to, BlocksToReceive from) {
  for (std::size_t distance = 1; distance < call.size(); ++distance) {
    const std::span<std::byte> block = from[call.before(distance)];
    Request received = call.receive(call.before(distance), block);
    Request sent = call.send(call.after(distance), to[call.after(distance)]);
    co_await call.end_of(std::move(received), block.size());
    co_await call.end_of(std::move(sent));
  }
  call.throw_if_failed();
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

Request all_to_all(const Group& group, BlocksToSend to, BlocksToReceive from, AllToAllWay way) {
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
  if (!to[self].empty()) {
    std::memcpy(from[self].data(), to[self].data(), to[self].size());
  }
  // Sizes differ between ranks and the way must not: `automatic` depends on the size of the group only.
  return way == AllToAllWay::pairwise ? pairwise(Call{group}, std::move(to), std::move(from))
                                      : direct(Call{group}, std::move(to), std::move(from));
}

Request all_to_all(const Group& group, std::span<const std::byte> to, std::span<std::byte> from, AllToAllWay way) {
  const std::size_t bytes = block_bytes(group, to.size(), "send");
  const std::vector<std::size_t> counts(group.size(), bytes);
  (void)block_bytes(group, from.size(), "receive");
  if (way == AllToAllWay::automatic) {
    way = choose_all_to_all(group.size(), bytes);
  }
  return all_to_all(group, cut(to, counts, 1), cut(from, counts, 1), way);
}

AllToAllWay choose_all_to_all(std::size_t members, std::size_t block_bytes) noexcept {
  constexpr std::size_t block_bytes_max = 32768;
  constexpr std::size_t members_max = 32;
  return block_bytes > block_bytes_max && members > members_max ? AllToAllWay::pairwise : AllToAllWay::direct;
}

}  // namespace plait::comm
