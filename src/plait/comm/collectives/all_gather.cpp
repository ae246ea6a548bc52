// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/all_gather.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "plait/comm/collectives/detail/call.hpp"
#include "plait/comm/collectives/detail/node_levels.hpp"
#include "plait/comm/collectives/detail/spread.hpp"
#include "plait/comm/coroutine.hpp"

namespace plait::comm {

namespace {

using detail::Call;
using detail::NodeLevels;
using Blocks = std::vector<std::span<std::byte>>;

/// What each member of a call contributes: its block, or those of its node.
using Shares = std::vector<Blocks>;

std::size_t total_size(const Blocks& blocks) {
  return std::transform_reduce(
      blocks.begin(), blocks.end(), std::size_t{0}, std::plus{}, [](const auto& block) { return block.size(); });
}

Request send_share(const Call& call, std::size_t to, const Blocks& blocks) {
  return call.has_failed()    ? call.send(to, std::span<const std::byte>{})
         : blocks.size() == 1 ? call.send(to, blocks.front())
                              : call.send(to, Layout::blocks(blocks));
}

Request receive_share(const Call& call, std::size_t from, const Blocks& blocks) {
  return blocks.size() == 1 ? call.receive(from, blocks.front()) : call.receive(from, Layout::blocks(blocks));
}

AsyncOperation ring(Call call, Shares all) {
  const std::size_t last = call.size() - 1;
  std::vector<Request> receives;
  std::vector<Request> sends;
  for (std::size_t distance = 1; distance <= last; ++distance) {
    receives.push_back(receive_share(call, call.before(1), all[call.before(distance)]));
  }
  for (std::size_t distance = 0; distance < last; ++distance) {
    if (distance > 0) {
      co_await call.end_of(std::move(receives[distance - 1]), total_size(all[call.before(distance)]));
    }
    sends.push_back(send_share(call, call.after(1), all[call.before(distance)]));
  }
  if (last > 0) {
    co_await call.end_of(std::move(receives[last - 1]), total_size(all[call.before(last)]));
  }
  for (Request& request : sends) {
    co_await call.end_of(std::move(request));
  }
  call.throw_if_failed();
}

/// The blocks of `count` members, of the one `distance` behind this rank and those behind it.
Blocks blocks_from(const Call& call, const Shares& all, std::size_t distance, std::size_t count) {
  Blocks blocks;
  for (std::size_t i = 0; i < count; ++i) {
    const Blocks& share = all[call.after(distance + i)];
    blocks.insert(blocks.end(), share.begin(), share.end());
  }
  return blocks;
}

/// Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for all-to-all communications in multiport
/// message-passing systems", 1997, section 4. Layouts replace their copies.
AsyncOperation doubling(Call call, Shares all) {
  // Before each round this rank has the shares of `distance` members, its own first.
  for (std::size_t distance = 1; distance < call.size(); distance *= 2) {
    const std::size_t count = std::min(distance, call.size() - distance);
    const Blocks incoming = blocks_from(call, all, distance, count);
    Request received = receive_share(call, call.after(distance), incoming);
    Request sent = send_share(call, call.before(distance), blocks_from(call, all, 0, count));
    co_await call.end_of(std::move(received), total_size(incoming));
    co_await call.end_of(std::move(sent));
  }
  call.throw_if_failed();
}

Request exchange_shares(Call call, Shares all, AllGatherWay way) {
  return way == AllGatherWay::ring ? ring(std::move(call), std::move(all)) : doubling(std::move(call), std::move(all));
}

/// Memory that holds the blocks one behind the other: their own, if they are so.
class Contiguous {
 public:
  explicit Contiguous(const Blocks& blocks) : whole_{blocks.front().data(), total_size(blocks)} {
    const std::byte* end = whole_.data();
    for (const std::span<std::byte> block : blocks) {
      is_copy_ = is_copy_ || (!block.empty() && block.data() != end);
      end += block.size();
    }
    if (is_copy_) {
      copy_.resize(whole_.size());
      whole_ = copy_;
    }
  }
  Contiguous(const Contiguous&) = delete;
  Contiguous& operator=(const Contiguous&) = delete;

  [[nodiscard]] std::span<std::byte> whole() const noexcept { return whole_; }
  /// Between the blocks and the copy, if there is one.
  void copy_from(const Blocks& blocks) {
    std::byte* at = copy_.data();
    for (std::size_t i = 0; is_copy_ && i < blocks.size(); ++i) {
      at = std::ranges::copy(blocks[i], at).out;
    }
  }
  void copy_to(const Blocks& blocks) const {
    const std::byte* at = copy_.data();
    for (std::size_t i = 0; is_copy_ && i < blocks.size(); at += blocks[i++].size()) {
      std::copy_n(at, blocks[i].size(), blocks[i].data());
    }
  }

 private:
  std::span<std::byte> whole_;
  bool is_copy_ = false;
  Bytes copy_;
};

enum GatherPhase : unsigned { to_leader, to_node };

AsyncOperation gather_by_node(Call call, Blocks all, AllGatherWay way_among) {
  const NodeLevels levels{call, 0};
  Call here = levels.within(call);
  const std::vector<std::size_t>& node = levels.own_node();
  if (levels.is_leader()) {
    for (std::size_t member = 1; member < node.size(); ++member) {
      const std::span<std::byte> block = all[node[member]];
      Request received = here.receive(member, block, to_leader);
      co_await call.end_of(std::move(received), block.size());
    }
    Shares shares;
    for (const std::vector<std::size_t>& members : levels.nodes()) {
      Blocks& share = shares.emplace_back();
      for (const std::size_t member : members) {
        share.push_back(all[member]);
      }
    }
    Request exchanged = exchange_shares(levels.among(call), std::move(shares), way_among);
    co_await call.end_of(std::move(exchanged));
  } else {
    Request sent = here.send(0, all[call.self()], to_leader);
    co_await call.end_of(std::move(sent));
  }
  Contiguous blocks{all};
  if (levels.is_leader()) {
    blocks.copy_from(all);
  }
  Request spread = detail::spread(levels.within(call), 0, blocks.whole(), to_node);
  co_await call.end_of(std::move(spread));
  if (!levels.is_leader()) {
    blocks.copy_to(all);
  }
  call.throw_if_failed();
}

/// A ring of all members carries size - 1 blocks over each link, and by node those of the other nodes, but in phases
/// that wait for each other. Measured with 1 Gbit/s: 1.5 times the blocks gain 1.5, 1.17 times gain 0.75 to 1.05.
bool gains_by_node(const GroupNodes* nodes, std::size_t size, AllGatherWay without_nodes) {
  if (nodes == nullptr || without_nodes != AllGatherWay::ring) {
    return nodes != nullptr;
  }
  const auto smallest = std::ranges::min_element(nodes->members, {}, &std::vector<std::size_t>::size);
  return 4 * (size - 1) >= 5 * (size - smallest->size());
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
  Call call{group};
  const AllGatherWay without_nodes = choose_all_gather(total_size(all));
  if (way == AllGatherWay::automatic) {
    way = gains_by_node(group.nodes(), group.size(), without_nodes) ? AllGatherWay::by_node : without_nodes;
  }
  if (way == AllGatherWay::by_node) {
    way = without_nodes;
    if (group.nodes() != nullptr) {
      return gather_by_node(std::move(call), std::move(all), way);
    }
  }
  Shares shares;
  for (const std::span<std::byte> block : all) {
    shares.push_back({block});
  }
  return exchange_shares(std::move(call), std::move(shares), way);
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
