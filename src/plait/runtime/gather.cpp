// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/gather.hpp"

#include "plait/comm/collectives/barrier.hpp"
#include "plait/comm/collectives/group.hpp"

namespace plait {

std::vector<Bytes> all_gather(comm::Endpoint& endpoint, std::span<const std::byte> mine) {
  constexpr Tag to_all{3};
  std::vector<Bytes> all(endpoint.rank_count());
  std::vector<comm::Request> requests;
  for (std::uint32_t rank = 0; rank < endpoint.rank_count(); ++rank) {
    requests.push_back(endpoint.receive({Rank{rank}, to_all, comm::internal}, all[rank]));
    requests.push_back(endpoint.send({Rank{rank}, to_all, comm::internal}, mine));
  }
  for (comm::Request& request : requests) {
    request.wait();
  }
  return all;
}

void barrier(comm::Endpoint& endpoint) {
  // A group a call: each takes as many messages from every rank, so they match in the order of the calls.
  comm::barrier(comm::Group{endpoint, comm::internal_collectives}).wait();
}

}  // namespace plait
