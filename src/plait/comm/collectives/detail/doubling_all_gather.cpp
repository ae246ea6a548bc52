// SPDX-License-Identifier: Apache-2.0
// Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for all-to-all communications in multiport
// message-passing systems", 1997, section 4. Layouts take the place of their copying to and fro.
#include <algorithm>

#include "plait/comm/collectives/detail/all_gather.hpp"
#include "plait/comm/coroutine.hpp"

namespace plait::comm::detail {

namespace {

/// The blocks of `count` members, of the one `distance` behind this rank and those behind it.
Layout blocks_from(const AllGather& gather, std::size_t distance, std::size_t count) {
  std::vector<std::span<std::byte>> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    blocks.push_back(gather.all[gather.call.after(distance + i)]);
  }
  return Layout::blocks(std::move(blocks));
}

AsyncOperation doubling(Endpoint& /*endpoint*/, AllGather gather) {
  Call& call = gather.call;
  // Before each round this rank has the blocks of `distance` members, its own first.
  for (std::size_t distance = 1; distance < call.size(); distance *= 2) {
    const std::size_t count = std::min(distance, call.size() - distance);
    Layout incoming = blocks_from(gather, distance, count);
    const std::size_t bytes = incoming.size();
    Request received = call.receive(call.after(distance), std::move(incoming));
    Request sent = call.has_failed() ? call.send(call.before(distance), std::span<const std::byte>{})
                                     : call.send(call.before(distance), blocks_from(gather, 0, count));
    co_await call.end_of(std::move(received), bytes);
    co_await call.end_of(std::move(sent));
  }
  call.throw_if_failed();
}

}  // namespace

Request doubling_all_gather(AllGather gather) {
  Endpoint& endpoint = gather.call.endpoint();
  return doubling(endpoint, std::move(gather));
}

}  // namespace plait::comm::detail
