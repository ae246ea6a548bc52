// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/engine/all_ranks.hpp"

#include <cstdint>
#include <utility>

#include "plait/comm/collectives/all_gather.hpp"
#include "plait/comm/collectives/all_to_all.hpp"
#include "plait/comm/collectives/broadcast.hpp"
#include "plait/comm/endpoint.hpp"

namespace plait::data::detail {

void settle(const comm::Group& group, comm::Request operation) {
  operation.wait_released();
  group.endpoint().flush();  // an eager message is complete before it is sent
}

std::vector<Bytes> gather_any(const comm::Group& group, std::size_t root, std::span<const std::byte> mine) {
  constexpr Tag tag{1};
  if (group.self() != root) {
    settle(group, group.endpoint().send({group.rank(root), tag, group.comm()}, mine));
    return {};
  }
  std::vector<Bytes> all(group.size());
  std::vector<comm::Request> requests;
  for (std::size_t member = 0; member < all.size(); ++member) {
    if (member == root) {
      all[member].assign(mine.begin(), mine.end());
    } else {
      requests.push_back(group.endpoint().receive({group.rank(member), tag, group.comm()}, all[member]));
    }
  }
  for (comm::Request& request : requests) {
    settle(group, std::move(request));
  }
  return all;
}

std::vector<Bytes> exchange_any(const comm::Group& group, std::span<const Bytes> to) {
  std::vector<std::uint64_t> sizes_to;
  std::vector<std::uint64_t> sizes(group.size());
  comm::BlocksToSend blocks_to;
  for (const Bytes& bytes : to) {
    sizes_to.push_back(bytes.size());
    blocks_to.emplace_back(bytes);
  }
  settle(group, comm::all_to_all(group, std::span<const std::uint64_t>{sizes_to}, std::span{sizes}));
  std::vector<Bytes> from(group.size());
  comm::BlocksToReceive blocks;
  for (std::size_t member = 0; member < from.size(); ++member) {
    from[member].resize(sizes[member]);
    blocks.emplace_back(from[member]);
  }
  settle(group, comm::all_to_all(group, std::move(blocks_to), std::move(blocks)));
  return from;
}

std::vector<Bytes> all_gather_any(const comm::Group& group, std::span<const std::byte> mine) {
  std::vector<std::uint64_t> sizes(group.size());
  const std::uint64_t size = mine.size();
  settle(group, comm::all_gather(group, std::span{&size, 1}, std::span{sizes}));
  std::vector<Bytes> all(group.size());
  std::vector<std::span<std::byte>> places;
  for (std::size_t member = 0; member < all.size(); ++member) {
    all[member].resize(sizes[member]);
    places.emplace_back(all[member]);
  }
  settle(group, comm::all_gather(group, mine, std::move(places)));
  return all;
}

Bytes broadcast_any(const comm::Group& group, std::span<const std::byte> on_first) {
  std::uint64_t size = on_first.size();
  settle(group, comm::broadcast(group, 0, std::span{&size, 1}));
  Bytes bytes(size);
  if (group.self() == 0) {
    bytes.assign(on_first.begin(), on_first.end());
  }
  if (size > 0) {
    settle(group, comm::broadcast(group, 0, std::span{bytes}));
  }
  return bytes;
}

}  // namespace plait::data::detail
