// SPDX-License-Identifier: Apache-2.0
// Rabenseifner, "Optimization of collective reduction operations", ICCS 2004: a reduce-scatter by recursive halving,
// then the parts are gathered, on all members by recursive doubling, or on the root.
#include "plait/comm/collectives/detail/reduce.hpp"
#include "plait/comm/coroutine.hpp"

namespace plait::comm::detail {

namespace {

enum Phase : unsigned { fold_in, scatter, gather, fold_out };

/// Leaves in `sum`, which holds this member's row, the combined part of this member; of one that takes no part,
/// nothing.
AsyncOperation reduce_scatter(Endpoint& /*endpoint*/, Reduce reduce, std::span<std::byte> sum) {
  Call& call = reduce.call;
  const Fold fold{call};
  if (!fold.takes_part()) {
    Request sent = call.send(fold.partner(), sum, fold_in);
    co_await call.end_of(std::move(sent));
    call.throw_if_failed();
    co_return;
  }
  // The first half of the parts is the longer one.
  Bytes incoming(fold.is_paired() ? sum.size() : parts(sum, reduce.reduction, fold.size(), 0, fold.size() / 2).size());
  if (fold.is_paired()) {
    Request received = call.receive(fold.partner(), std::span<std::byte>{incoming}, fold_in);
    const bool is_whole = co_await call.end_of(std::move(received), sum.size());
    if (is_whole) {
      reduce.combine(sum, incoming, false);
    }
  }
  std::size_t first = 0;
  std::size_t last = fold.size();
  for (std::size_t distance = fold.size() / 2; distance > 0; distance /= 2) {
    const std::size_t middle = first + distance;
    const std::size_t number = fold.self() ^ distance;
    const bool keeps_upper = (fold.self() & distance) != 0;
    const std::span<std::byte> lower = parts(sum, reduce.reduction, fold.size(), first, middle);
    const std::span<std::byte> upper = parts(sum, reduce.reduction, fold.size(), middle, last);
    const std::span<std::byte> kept = keeps_upper ? upper : lower;
    const std::span<std::byte> other = std::span{incoming}.first(kept.size());
    Request received = call.receive(fold.member(number), other, scatter);
    Request sent = call.send(fold.member(number), reduce.unless_failed(keeps_upper ? lower : upper), scatter);
    const bool is_whole = co_await call.end_of(std::move(received), kept.size());
    if (is_whole) {
      reduce.combine(kept, other, number < fold.self());
    }
    co_await call.end_of(std::move(sent));
    (keeps_upper ? first : last) = middle;
  }
  call.throw_if_failed();
}

AsyncOperation all_reduce(Endpoint& endpoint, Reduce reduce) {
  Call& call = reduce.call;
  const Fold fold{call};
  const std::span<std::byte> sum = reduce.result;
  Request scattered = reduce_scatter(endpoint, reduce, sum);
  co_await call.end_of(std::move(scattered));
  if (!fold.takes_part()) {
    Request received = call.receive(fold.partner(), sum, fold_out);
    co_await call.end_of(std::move(received), sum.size());
    call.throw_if_failed();
    co_return;
  }
  for (std::size_t distance = 1; distance < fold.size(); distance *= 2) {
    const std::size_t number = fold.self() ^ distance;
    const std::size_t first = fold.self() / distance * distance;
    const std::size_t others = number / distance * distance;
    const std::span<std::byte> had = parts(sum, reduce.reduction, fold.size(), first, first + distance);
    const std::span<std::byte> wanted = parts(sum, reduce.reduction, fold.size(), others, others + distance);
    Request received = call.receive(fold.member(number), wanted, gather);
    Request sent = call.send(fold.member(number), reduce.unless_failed(had), gather);
    co_await call.end_of(std::move(received), wanted.size());
    co_await call.end_of(std::move(sent));
  }
  if (fold.is_paired()) {
    Request sent = call.send(fold.partner(), reduce.unless_failed(sum), fold_out);
    co_await call.end_of(std::move(sent));
  }
  call.throw_if_failed();
}

AsyncOperation reduce_to_root(Endpoint& endpoint, Reduce reduce) {
  Call& call = reduce.call;
  const Fold fold{call};
  const bool is_root = call.self() == reduce.root;
  Bytes memory(is_root ? 0 : reduce.mine.size());
  const std::span<std::byte> sum = is_root ? reduce.result : std::span<std::byte>{memory};
  if (!sum.empty() && sum.data() != reduce.mine.data()) {
    std::memcpy(sum.data(), reduce.mine.data(), sum.size());
  }
  Request scattered = reduce_scatter(endpoint, reduce, sum);
  co_await call.end_of(std::move(scattered));
  if (!is_root) {
    if (fold.takes_part()) {
      const std::span<std::byte> part = parts(sum, reduce.reduction, fold.size(), fold.self(), fold.self() + 1);
      Request sent = call.send(reduce.root, reduce.unless_failed(part), gather);
      co_await call.end_of(std::move(sent));
    }
    call.throw_if_failed();
    co_return;
  }
  // The members from which parts come, and what is expected of each.
  std::vector<Request> receives;
  std::vector<std::size_t> lengths;
  for (std::size_t number = 0; number < fold.size(); ++number) {
    const std::span<std::byte> part = parts(sum, reduce.reduction, fold.size(), number, number + 1);
    if (fold.member(number) != call.self()) {
      receives.push_back(call.receive(fold.member(number), part, gather));
      lengths.push_back(part.size());
    }
  }
  for (std::size_t i = 0; i < receives.size(); ++i) {
    Request next = std::move(receives[i]);
    co_await call.end_of(std::move(next), lengths[i]);
  }
  call.throw_if_failed();
}

}  // namespace

Request halving_all_reduce(Reduce reduce) {
  Endpoint& endpoint = reduce.call.endpoint();
  return all_reduce(endpoint, std::move(reduce));
}

Request halving_reduce(Reduce reduce) {
  Endpoint& endpoint = reduce.call.endpoint();
  return reduce_to_root(endpoint, std::move(reduce));
}

}  // namespace plait::comm::detail
