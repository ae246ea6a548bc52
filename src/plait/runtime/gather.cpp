// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/gather.hpp"

#include <cstdint>

#include "plait/comm/collectives/all_gather.hpp"
#include "plait/comm/collectives/barrier.hpp"
#include "plait/comm/collectives/group.hpp"

namespace plait {

// A group a call: each takes as many messages from every rank, so they match in the order of the calls.

std::vector<Bytes> all_gather(comm::Endpoint& endpoint, std::span<const std::byte> mine) {
  const comm::Group group{endpoint, comm::internal_collectives};
  const std::uint64_t size = mine.size();
  std::vector<std::uint64_t> sizes(endpoint.rank_count());
  comm::all_gather(group, std::span{&size, 1}, std::span{sizes}).wait();
  std::vector<Bytes> all;
  std::vector<std::span<std::byte>> blocks;
  for (const std::uint64_t bytes : sizes) {
    blocks.emplace_back(all.emplace_back(bytes));
  }
  comm::all_gather(group, mine, std::move(blocks)).wait();
  return all;
}

void barrier(comm::Endpoint& endpoint) {
  comm::barrier(comm::Group{endpoint, comm::internal_collectives}).wait();
}

}  // namespace plait
