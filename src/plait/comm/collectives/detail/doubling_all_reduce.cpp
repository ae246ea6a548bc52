// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/detail/reduce.hpp"
#include "plait/comm/coroutine.hpp"

namespace plait::comm::detail {

namespace {

enum Phase : unsigned { fold_in, exchange, fold_out };

AsyncOperation doubling(Endpoint& /*endpoint*/, Reduce reduce) {
  Call& call = reduce.call;
  const Fold fold{call};
  const std::span<std::byte> sum = reduce.result;
  if (!fold.takes_part()) {
    // `sum` is read by the send and written by the receive, which the partner answers after it has the former.
    Request sent = call.send(fold.partner(), sum, fold_in);
    co_await call.end_of(std::move(sent));
    Request received = call.receive(fold.partner(), sum, fold_out);
    co_await call.end_of(std::move(received), sum.size());
    call.throw_if_failed();
    co_return;
  }
  Bytes incoming(call.size() == 1 ? 0 : sum.size());
  if (fold.is_paired()) {
    Request received = call.receive(fold.partner(), std::span<std::byte>{incoming}, fold_in);
    const bool is_whole = co_await call.end_of(std::move(received), sum.size());
    if (is_whole) {
      reduce.combine(sum, incoming, false);
    }
  }
  for (std::size_t distance = 1; distance < fold.size(); distance *= 2) {
    const std::size_t number = fold.self() ^ distance;
    Request received = call.receive(fold.member(number), std::span<std::byte>{incoming}, exchange);
    Request sent = call.send(fold.member(number), reduce.unless_failed(sum), exchange);
    const bool is_whole = co_await call.end_of(std::move(received), sum.size());
    co_await call.end_of(std::move(sent));  // before `sum` changes
    if (is_whole) {
      reduce.combine(sum, incoming, number < fold.self());
    }
  }
  if (fold.is_paired()) {
    Request sent = call.send(fold.partner(), reduce.unless_failed(sum), fold_out);
    co_await call.end_of(std::move(sent));
  }
  call.throw_if_failed();
}

}  // namespace

Request doubling_all_reduce(Reduce reduce) {
  Endpoint& endpoint = reduce.call.endpoint();
  return doubling(endpoint, std::move(reduce));
}

}  // namespace plait::comm::detail
