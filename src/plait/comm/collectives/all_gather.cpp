// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/all_gather.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "plait/comm/collectives/detail/all_gather.hpp"

namespace plait::comm {

namespace {

struct Way {
  AllGatherWay way;
  const char* name;
  Request (*start)(detail::AllGather);
};

constexpr std::array ways{
    Way{AllGatherWay::ring, "ring", detail::ring_all_gather},
    Way{AllGatherWay::doubling, "doubling", detail::doubling_all_gather},
};

const Way& find(AllGatherWay way) {
  return *std::ranges::find(ways, way, &Way::way);
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
  return find(way).start({detail::Call{group}, std::move(all)});
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

const char* to_string(AllGatherWay way) noexcept {
  return way == AllGatherWay::automatic ? "automatic" : find(way).name;
}

}  // namespace plait::comm
