// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/detail/all_gather.hpp"
#include "plait/comm/coroutine.hpp"

namespace plait::comm::detail {

namespace {

AsyncOperation ring(Endpoint& /*endpoint*/, AllGather gather) {
  Call& call = gather.call;
  const std::size_t last = call.size() - 1;
  std::vector<Request> receives;
  std::vector<Request> sends;
  for (std::size_t distance = 1; distance <= last; ++distance) {
    receives.push_back(call.receive(call.before(1), gather.all[call.before(distance)]));
  }
  for (std::size_t distance = 0; distance < last; ++distance) {
    if (distance > 0) {
      Request next = std::move(receives[distance - 1]);
      co_await call.end_of(std::move(next), gather.all[call.before(distance)].size());
    }
    const std::span<const std::byte> block = gather.all[call.before(distance)];
    sends.push_back(call.send(call.after(1), call.has_failed() ? std::span<const std::byte>{} : block));
  }
  if (last > 0) {
    Request next = std::move(receives[last - 1]);
    co_await call.end_of(std::move(next), gather.all[call.before(last)].size());
  }
  for (Request& request : sends) {
    Request next = std::move(request);
    co_await call.end_of(std::move(next));
  }
  call.throw_if_failed();
}

}  // namespace

Request ring_all_gather(AllGather gather) {
  Endpoint& endpoint = gather.call.endpoint();
  return ring(endpoint, std::move(gather));
}

}  // namespace plait::comm::detail
