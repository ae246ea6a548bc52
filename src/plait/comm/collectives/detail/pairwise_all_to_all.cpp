// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/detail/all_to_all.hpp"
#include "plait/comm/coroutine.hpp"

namespace plait::comm::detail {

namespace {

AsyncOperation pairwise(Endpoint& /*endpoint*/, AllToAll exchange) {
  Call& call = exchange.call;
  exchange.take_own();
  for (std::size_t distance = 1; distance < call.size(); ++distance) {
    const std::size_t source = call.before(distance);
    const std::size_t target = call.after(distance);
    Request received = call.receive(source, exchange.from[source]);
    Request sent = call.send(target, exchange.to[target]);
    const bool is_whole = co_await call.end_of(std::move(received), exchange.from[source].size());
    if (is_whole) {
      exchange.tell(source);
    }
    co_await call.end_of(std::move(sent));
  }
  call.throw_if_failed();
}

}  // namespace

Request pairwise_all_to_all(AllToAll exchange) {
  Endpoint& endpoint = exchange.call.endpoint();
  return pairwise(endpoint, std::move(exchange));
}

}  // namespace plait::comm::detail
