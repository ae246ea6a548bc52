// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "plait/comm/collectives/detail/broadcast.hpp"
#include "plait/comm/coroutine.hpp"

namespace plait::comm::detail {

namespace {

AsyncOperation binomial(Endpoint& /*endpoint*/, Broadcast broadcast) {
  Call& call = broadcast.call;
  const std::size_t place = broadcast.place();
  // The parent's place is this one's without its lowest bit; children have one lower bit more.
  std::size_t bit = place == 0 ? std::bit_ceil(call.size()) : place & (~place + 1);
  if (place != 0) {
    Request received = call.receive(broadcast.member(place - bit), broadcast.data);
    co_await call.end_of(std::move(received), broadcast.data.size());
  }
  const std::span<const std::byte> passed_on = call.has_failed() ? std::span<const std::byte>{} : broadcast.data;
  std::vector<Request> sends;
  for (bit /= 2; bit > 0; bit /= 2) {
    if (place + bit < call.size()) {
      sends.push_back(call.send(broadcast.member(place + bit), passed_on));
    }
  }
  for (Request& request : sends) {
    Request next = std::move(request);
    co_await call.end_of(std::move(next));
  }
  call.throw_if_failed();
}

}  // namespace

Request binomial_broadcast(Broadcast broadcast) {
  Endpoint& endpoint = broadcast.call.endpoint();
  return binomial(endpoint, std::move(broadcast));
}

}  // namespace plait::comm::detail
