// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/detail/reduce.hpp"
#include "plait/comm/coroutine.hpp"

namespace plait::comm::detail {

namespace {

AsyncOperation tree(Endpoint& /*endpoint*/, Reduce reduce) {
  Call& call = reduce.call;
  const std::size_t size = call.size();
  const std::size_t place = (call.self() + size - reduce.root) % size;
  const auto member = [&](std::size_t at_place) { return (at_place + reduce.root) % size; };
  const bool is_leaf = place % 2 == 1 || place + 1 == size;
  Bytes memory(place == 0 || is_leaf ? 0 : reduce.mine.size());
  const std::span<std::byte> sum = place == 0 ? reduce.result : std::span<std::byte>{memory};
  if (!sum.empty() && sum.data() != reduce.mine.data()) {
    std::memcpy(sum.data(), reduce.mine.data(), sum.size());
  }
  Bytes incoming(place + 1 == size || place % 2 == 1 ? 0 : reduce.mine.size());
  std::size_t bit = 1;
  for (; bit < size && (place & bit) == 0; bit *= 2) {
    if (place + bit < size) {
      Request received = call.receive(member(place + bit), std::span<std::byte>{incoming});
      const bool is_whole = co_await call.end_of(std::move(received), reduce.mine.size());
      if (is_whole) {
        reduce.combine(sum, incoming, false);
      }
    }
  }
  if (place != 0) {
    const std::span<const std::byte> row = is_leaf ? reduce.mine : std::span<const std::byte>{sum};
    Request sent = call.send(member(place - bit), reduce.unless_failed(row));
    co_await call.end_of(std::move(sent));
  }
  call.throw_if_failed();
}

}  // namespace

Request tree_reduce(Reduce reduce) {
  Endpoint& endpoint = reduce.call.endpoint();
  return tree(endpoint, std::move(reduce));
}

}  // namespace plait::comm::detail
