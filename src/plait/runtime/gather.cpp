// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/gather.hpp"

#include "plait/comm/collectives/barrier.hpp"
#include "plait/comm/collectives/group.hpp"

namespace plait {

namespace {

// Messages of one source keep their order: one tag each is enough.
constexpr Tag to_root{1};
constexpr Tag from_root{2};
constexpr Tag to_all{3};
/// Where these tags are not used.
constexpr comm::CommId collectives{comm::internal.value() + 1};

comm::Address address(Rank rank, Tag tag) {
  return {rank, tag, comm::internal};
}

}  // namespace

std::vector<Bytes> gather(comm::Endpoint& endpoint, Rank root, std::span<const std::byte> mine) {
  if (endpoint.self() != root) {
    endpoint.send(address(root, to_root), mine).wait();
    return {};
  }
  std::vector<Bytes> all(endpoint.rank_count());
  std::vector<comm::Request> requests;
  for (std::uint32_t rank = 0; rank < endpoint.rank_count(); ++rank) {
    if (Rank{rank} == root) {
      all[rank].assign(mine.begin(), mine.end());
    } else {
      requests.push_back(endpoint.receive(address(Rank{rank}, to_root), all[rank]));
    }
  }
  for (comm::Request& request : requests) {
    request.wait();
  }
  return all;
}

Bytes broadcast(comm::Endpoint& endpoint, Rank root, std::span<const std::byte> on_root) {
  Bytes bytes;
  if (endpoint.self() != root) {
    endpoint.receive(address(root, from_root), bytes).wait_released();  // others may get it from here
    return bytes;
  }
  bytes.assign(on_root.begin(), on_root.end());
  std::vector<comm::Destination> others;
  for (std::uint32_t rank = 0; rank < endpoint.rank_count(); ++rank) {
    if (Rank{rank} != root) {
      others.push_back({Rank{rank}});
    }
  }
  endpoint.multicast(std::move(others), from_root, bytes, {}, comm::internal).wait();
  return bytes;
}

std::vector<Bytes> all_gather(comm::Endpoint& endpoint, std::span<const std::byte> mine) {
  std::vector<Bytes> all(endpoint.rank_count());
  std::vector<comm::Request> requests;
  for (std::uint32_t rank = 0; rank < endpoint.rank_count(); ++rank) {
    requests.push_back(endpoint.receive(address(Rank{rank}, to_all), all[rank]));
    requests.push_back(endpoint.send(address(Rank{rank}, to_all), mine));
  }
  for (comm::Request& request : requests) {
    request.wait();
  }
  return all;
}

void barrier(comm::Endpoint& endpoint) {
  // A group a call: each takes as many messages from every rank, so they match in the order of the calls.
  comm::barrier(comm::Group{endpoint, collectives}).wait();
}

}  // namespace plait
