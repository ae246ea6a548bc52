// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/barrier.hpp"

#include "plait/comm/collectives/detail/call.hpp"
#include "plait/comm/coroutine.hpp"

namespace plait::comm {

namespace {

AsyncOperation disseminate(detail::Call call) {
  for (std::size_t distance = 1; distance < call.size(); distance *= 2) {
    Request received = call.receive(call.before(distance), std::span<std::byte>{});
    Request sent = call.send(call.after(distance), std::span<const std::byte>{});
    co_await call.end_of(std::move(received));
    co_await call.end_of(std::move(sent));
  }
  call.throw_if_failed();
}

}  // namespace

Request barrier(const Group& group) {
  return disseminate(detail::Call{group});
}

}  // namespace plait::comm
