// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/reduce.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "plait/comm/collectives/detail/call.hpp"
#include "plait/comm/collectives/detail/node_levels.hpp"
#include "plait/comm/collectives/detail/spread.hpp"
#include "plait/comm/coroutine.hpp"

namespace plait::comm {

namespace {

using detail::Call;
using detail::NodeLevels;

/// A reduction whose arguments are checked.
struct Reduce : Call {
  Reduction reduction;
  std::size_t root = 0;
  std::span<const std::byte> mine;
  std::span<std::byte> result;  ///< On the root; of an all-reduce on all, where it is `mine` too.

  /// `own` becomes own and other combined, the one of the earlier member left.
  void combine(std::span<std::byte> own, std::span<const std::byte> other, bool is_other_left) const {
    const std::size_t count = own.size() / reduction.element_bytes;
    if (is_other_left) {
      reduction.combine(other.data(), own.data(), own.data(), count);
    } else {
      reduction.combine(own.data(), other.data(), own.data(), count);
    }
  }
  /// What to send after something has gone wrong: nothing, so that the receiver finds out.
  [[nodiscard]] std::span<const std::byte> unless_failed(std::span<const std::byte> data) const {
    return has_failed() ? std::span<const std::byte>{} : data;
  }
};

/// Reduces the members to a power of two: of the first `2 * surplus`, each odd one gives its row to the even one before
/// it. Those that take part have new numbers, in the order of members.
class Fold {
 public:
  explicit Fold(const Call& call)
      : size_{std::bit_floor(call.size())}, surplus_{call.size() - size_}, self_{call.self()} {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Whether this member has to do with one that takes no part, or is it.
  [[nodiscard]] bool is_paired() const noexcept { return self_ < 2 * surplus_; }
  [[nodiscard]] bool takes_part() const noexcept { return !is_paired() || self_ % 2 == 0; }
  [[nodiscard]] std::size_t partner() const noexcept { return self_ ^ 1U; }
  /// This member's new number.
  [[nodiscard]] std::size_t self() const noexcept { return is_paired() ? self_ / 2 : self_ - surplus_; }
  /// The member of a new number.
  [[nodiscard]] std::size_t member(std::size_t number) const noexcept {
    return number < surplus_ ? 2 * number : number + surplus_;
  }

 private:
  std::size_t size_;
  std::size_t surplus_;
  std::size_t self_;
};

/// Of a row cut into `Fold::size()` parts of whole elements, the parts from `first` up to `last`.
template <class Byte>
std::span<Byte> parts(
    std::span<Byte> row, const Reduction& reduction, std::size_t count, std::size_t first, std::size_t last) {
  const std::size_t elements = row.size() / reduction.element_bytes;
  // The first parts have one element more when they cannot be the same.
  const auto begin = [&](std::size_t part) {
    return (elements / count * part + std::min(part, elements % count)) * reduction.element_bytes;
  };
  return row.subspan(begin(first), begin(last) - begin(first));
}

enum Phase : unsigned { fold_in, exchange, gather, fold_out };

AsyncOperation tree_reduce(Reduce reduce) {
  Call& call = reduce;
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

AsyncOperation doubling_all_reduce(Reduce reduce) {
  Call& call = reduce;
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

// Rabenseifner, "Optimization of collective reduction operations", ICCS 2004: a reduce-scatter by recursive halving,
// then the parts are gathered, on all members by recursive doubling, or on the root.

/// Replaces the part of this member in `sum`, its row, by the combined part, on members that take part.
AsyncOperation reduce_scatter(Reduce reduce, std::span<std::byte> sum) {
  Call& call = reduce;
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
    Request received = call.receive(fold.member(number), other, exchange);
    Request sent = call.send(fold.member(number), reduce.unless_failed(keeps_upper ? lower : upper), exchange);
    const bool is_whole = co_await call.end_of(std::move(received), kept.size());
    if (is_whole) {
      reduce.combine(kept, other, number < fold.self());
    }
    co_await call.end_of(std::move(sent));
    (keeps_upper ? first : last) = middle;
  }
  call.throw_if_failed();
}

AsyncOperation halving_all_reduce(Reduce reduce) {
  Call& call = reduce;
  const Fold fold{call};
  const std::span<std::byte> sum = reduce.result;
  Request scattered = reduce_scatter(reduce, sum);
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

AsyncOperation halving_reduce(Reduce reduce) {
  Call& call = reduce;
  const Fold fold{call};
  const bool is_root = call.self() == reduce.root;
  Bytes memory(is_root ? 0 : reduce.mine.size());
  const std::span<std::byte> sum = is_root ? reduce.result : std::span<std::byte>{memory};
  if (!sum.empty() && sum.data() != reduce.mine.data()) {
    std::memcpy(sum.data(), reduce.mine.data(), sum.size());
  }
  Request scattered = reduce_scatter(reduce, sum);
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
    co_await call.end_of(std::move(receives[i]), lengths[i]);
  }
  call.throw_if_failed();
}

/// Only `automatic` depends on the size: members that differ in it still end with the other ways.
ReduceWay way_of(std::size_t members, std::size_t bytes, ReduceWay way) {
  return way == ReduceWay::automatic ? choose_reduce(members, bytes)
         : way == ReduceWay::by_node ? ReduceWay::tree
                                     : way;
}

Request reduce_on_one_level(Reduce reduce, ReduceWay way) {
  return way_of(reduce.size(), reduce.mine.size(), way) == ReduceWay::tree ? tree_reduce(std::move(reduce))
                                                                           : halving_reduce(std::move(reduce));
}

Request all_reduce_on_one_level(Reduce reduce, ReduceWay way) {
  return way_of(reduce.size(), reduce.mine.size(), way) == ReduceWay::tree ? doubling_all_reduce(std::move(reduce))
                                                                           : halving_all_reduce(std::move(reduce));
}

/// Reduces to the leader of each node, and then to the root, which leads its node.
AsyncOperation reduce_by_node(Reduce reduce, ReduceWay way_among) {
  Call& call = reduce;
  const NodeLevels levels{call, reduce.root};
  const bool is_root = call.self() == reduce.root;
  Bytes memory(levels.is_leader() && !is_root ? reduce.mine.size() : 0);
  Reduce here = levels.within(reduce);
  here.root = 0;
  here.result = is_root ? reduce.result : std::span<std::byte>{memory};
  const std::span<std::byte> sum = here.result;
  Request of_node = reduce_on_one_level(std::move(here), ReduceWay::tree);
  co_await call.end_of(std::move(of_node));
  if (levels.is_leader()) {
    Reduce of_leaders = levels.among(reduce);
    of_leaders.root = 0;
    of_leaders.mine = sum;
    Request of_all = reduce_on_one_level(std::move(of_leaders), way_among);
    co_await call.end_of(std::move(of_all));
  }
  call.throw_if_failed();
}

AsyncOperation all_reduce_by_node(Reduce reduce, ReduceWay way_among) {
  Call& call = reduce;
  const NodeLevels levels{call, 0};
  Request of_node = reduce_on_one_level(levels.within(reduce), ReduceWay::tree);
  co_await call.end_of(std::move(of_node));
  if (levels.is_leader()) {
    Request of_all = all_reduce_on_one_level(levels.among(reduce), way_among);
    co_await call.end_of(std::move(of_all));
  }
  Request spread = detail::spread(levels.within(Call{call}), 0, reduce.result, fold_out);
  co_await call.end_of(std::move(spread));
  call.throw_if_failed();
}

bool goes_by_node(const Group& group, ReduceWay way) {
  return group.nodes() != nullptr && (way == ReduceWay::automatic || way == ReduceWay::by_node);
}

void throw_unless_whole(std::span<const std::byte> row, const Reduction& reduction) {
  require(reduction.combine && reduction.element_bytes > 0,
          "a reduction needs an operation on elements of at least 1 byte");
  if (row.size() % reduction.element_bytes != 0) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format(
            "a reduction of elements of {} bytes was given a row of {} bytes", reduction.element_bytes, row.size())};
  }
}

}  // namespace

Request reduce(const Group& group,
               std::size_t root,
               std::span<const std::byte> mine,
               std::span<std::byte> result,
               const ReduceOptions& options) {
  throw_unless_whole(mine, options.reduction);
  if (root >= group.size()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("member {} is the root of a reduction of {} members", root, group.size())};
  }
  if (group.self() == root && result.size() != mine.size()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("a reduction of {} bytes was given a result of {} bytes", mine.size(), result.size())};
  }
  Reduce checked{Call{group}, options.reduction, root, mine, result};
  return goes_by_node(group, options.way) ? reduce_by_node(std::move(checked), options.way)
                                          : reduce_on_one_level(std::move(checked), options.way);
}

Request all_reduce(const Group& group, std::span<std::byte> data, const ReduceOptions& options) {
  throw_unless_whole(data, options.reduction);
  Reduce checked{Call{group}, options.reduction, 0, data, data};
  return goes_by_node(group, options.way) ? all_reduce_by_node(std::move(checked), options.way)
                                          : all_reduce_on_one_level(std::move(checked), options.way);
}

ReduceWay choose_reduce(std::size_t members, std::size_t bytes) noexcept {
  constexpr std::size_t halving_bytes_min = 2048;
  constexpr std::size_t halving_members_min = 4;
  return members >= halving_members_min && bytes >= halving_bytes_min ? ReduceWay::halving : ReduceWay::tree;
}

}  // namespace plait::comm
