// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/barrier.hpp"

#include "plait/comm/collectives/detail/call.hpp"
#include "plait/comm/collectives/detail/node_levels.hpp"
#include "plait/comm/collectives/detail/spread.hpp"
#include "plait/comm/coroutine.hpp"

namespace plait::comm {

namespace {

enum BarrierPhase : unsigned { arrival, release };

AsyncOperation disseminate(detail::Call call) {
  for (std::size_t distance = 1; distance < call.size(); distance *= 2) {
    Request received = call.receive(call.before(distance), std::span<std::byte>{});
    Request sent = call.send(call.after(distance), std::span<const std::byte>{});
    co_await call.end_of(std::move(received));
    co_await call.end_of(std::move(sent));
  }
  call.throw_if_failed();
}

AsyncOperation gather_and_disseminate(detail::Call call) {
  const detail::NodeLevels levels{call, 0};
  detail::Call here = levels.within(call);
  if (levels.is_leader()) {
    for (std::size_t member = 1; member < here.size(); ++member) {
      Request received = here.receive(member, std::span<std::byte>{}, arrival);
      co_await call.end_of(std::move(received));
    }
    Request all_nodes = disseminate(levels.among(call));
    co_await call.end_of(std::move(all_nodes));
  } else {
    Request sent = here.send(0, std::span<const std::byte>{}, arrival);
    co_await call.end_of(std::move(sent));
  }
  Request released = detail::spread(std::move(here), 0, {}, release);
  co_await call.end_of(std::move(released));
  call.throw_if_failed();
}

}  // namespace

Request barrier(const Group& group) {
  detail::Call call{group};
  return call.nodes() == nullptr ? disseminate(std::move(call)) : gather_and_disseminate(std::move(call));
}

}  // namespace plait::comm
