// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/all_gather.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "plait/comm/collectives/detail/call.hpp"
#include "plait/comm/coroutine.hpp"

namespace plait::comm {

namespace {

using detail::Call;
using Blocks = std::vector<std::span<std::byte>>;

AsyncOperation ring(Call call, Blocks all) {
  const std::size_t last = call.size() - 1;
  std::vector<Request> receives;
  std::vector<Request> sends;
  for (std::size_t distance = 1; distance <= last; ++distance) {
    receives.push_back(call.receive(call.before(1), all[call.before(distance)]));
  }
  for (std::size_t distance = 0; distance < last; ++distance) {
    if (distance > 0) {
      co_await call.end_of(std::move(receives[distance - 1]), all[call.before(distance)].size());
    }
    const std::span<const std::byte> block = all[call.before(distance)];
    sends.push_back(call.send(call.after(1), call.has_failed() ? std::span<const std::byte>{} : block));
  }
  if (last > 0) {
    co_await call.end_of(std::move(receives[last - 1]), all[call.before(last)].size());
  }
  for (Request& request : sends) {
    co_await call.end_of(std::move(request));
  }
  call.throw_if_failed();
}

/// The blocks of `count` members, of the one `distance` behind this rank and those behind it.
Layout blocks_from(const Call& call, const Blocks& all, std::size_t distance, std::size_t count) {
  std::vector<std::span<std::byte>> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    blocks.push_back(all[call.after(distance + i)]);
  }
  return Layout::blocks(std::move(blocks));
}

/// Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for all-to-all communications in multiport
/// message-passing systems", 1997, section 4. Layouts replace their copies.
AsyncOperation doubling(Call call, Blocks all) {
  // Before each round this rank has the blocks of `distance` members, its own first.
  for (std::size_t distance = 1; distance < call.size(); distance *= 2) {
    const std::size_t count = std::min(distance, call.size() - distance);
    Layout incoming = blocks_from(call, all, distance, count);
    const std::size_t bytes = incoming.size();
    Request received = call.receive(call.after(distance), std::move(incoming));
    Request sent = call.has_failed() ? call.send(call.before(distance), std::span<const std::byte>{})
                                     : call.send(call.before(distance), blocks_from(call, all, 0, count));
    co_await call.end_of(std::move(received), bytes);
    co_await call.end_of(std::move(sent));
  }
  call.throw_if_failed();
}

}  // namespace

Request all_gather(const Group& group,
                   std::span<const std::byte> mine,
                   std::vector<std::span<std::byte>> all,
                   AllGatherWay way) {
  if (all.size() != group.size()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("an all-gather of {} members was given {} blocks to receive", group.size(), all.size())};
  }
  const std::span<std::byte> own = all[group.self()];
  if (own.size() != mine.size()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("member {} of an all-gather gives {} bytes and expects {} of itself",
                            group.self(),
                            mine.size(),
                            own.size())};
  }
  if (!mine.empty() && own.data() != mine.data()) {
    std::memcpy(own.data(), mine.data(), mine.size());
  }
  if (way == AllGatherWay::automatic) {
    std::size_t bytes = 0;
    for (const std::span<std::byte> block : all) {
      bytes += block.size();
    }
    way = choose_all_gather(bytes);
  }
  Call call{group};
  return way == AllGatherWay::ring ? ring(std::move(call), std::move(all)) : doubling(std::move(call), std::move(all));
}

Request all_gather(const Group& group, std::span<const std::byte> mine, std::span<std::byte> all, AllGatherWay way) {
  if (all.size() / group.size() != mine.size() || all.size() % group.size() != 0) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("an all-gather of {} blocks of {} bytes was given room for {} bytes",
                            group.size(),
                            mine.size(),
                            all.size())};
  }
  std::vector<std::span<std::byte>> blocks;
  for (std::size_t member = 0; member < group.size(); ++member) {
    blocks.push_back(all.subspan(member * mine.size(), mine.size()));
  }
  return all_gather(group, mine, std::move(blocks), way);
}

AllGatherWay choose_all_gather(std::size_t bytes) noexcept {
  constexpr std::size_t ring_bytes_min = std::size_t{512} << 10U;
  return bytes < ring_bytes_min ? AllGatherWay::doubling : AllGatherWay::ring;
}

}  // namespace plait::comm
