// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>

#include "plait/comm/collectives/group.hpp"
#include "plait/comm/request.hpp"

namespace plait::comm {

// Operations on two elements. Others must be associative and commutative, except for rounding, throw nothing, and own
// what they need: they run in any thread that makes progress, also after the call has returned.
struct Sum {
  template <class T>
  [[nodiscard]] T operator()(const T& left, const T& right) const {
    return static_cast<T>(left + right);
  }
};
struct Minimum {
  template <class T>
  [[nodiscard]] T operator()(const T& left, const T& right) const {
    return right < left ? right : left;
  }
};
struct Maximum {
  template <class T>
  [[nodiscard]] T operator()(const T& left, const T& right) const {
    return left < right ? right : left;
  }
};

/// An operation on arrays of elements, from `elementwise`.
struct Reduction {
  std::size_t element_bytes = 1;
  /// out[i] = left[i] combined with right[i], for `count` elements; `out` may be `left` or `right`.
  std::function<void(const std::byte* left, const std::byte* right, std::byte* out, std::size_t count)> combine;
};

template <class T, class Operation>
concept Reduces = std::is_trivially_copyable_v<T> && std::is_invocable_r_v<T, const Operation&, const T&, const T&>;

template <class T, class Operation>
  requires Reduces<T, Operation>
[[nodiscard]] Reduction elementwise(Operation operation) {
  const auto combine = [operation = std::move(operation)](
                           const std::byte* left, const std::byte* right, std::byte* out, std::size_t count) {
    const T* const lefts = reinterpret_cast<const T*>(left);
    const T* const rights = reinterpret_cast<const T*>(right);
    T* const outs = reinterpret_cast<T*>(out);
    for (std::size_t i = 0; i < count; ++i) {
      outs[i] = operation(lefts[i], rights[i]);
    }
  };
  return {sizeof(T), combine};
}

enum class ReduceWay : std::uint8_t {
  automatic,  ///< By the size of the data; see `choose_reduce`.
  tree,       ///< Whole arrays: `reduce` along a binomial tree, `all_reduce` by recursive doubling.
  halving,    ///< Members combine different parts, which are then gathered (Rabenseifner).
  by_node,    ///< Along a tree within each node, then among one member of each; as `tree` where the group has no nodes.
};

struct ReduceOptions {
  Reduction reduction;
  ReduceWay way = ReduceWay::automatic;
};

/// Combines `mine` of all members elementwise into `result` of member `root`; other members do not use `result`.
///
/// Non-blocking: memory must stay until complete. In place on the root when `result` is `mine`. All members must give
/// the same size, root, operation and way. Every run has the same result, bit by bit: the order of combining depends on
/// these and the size of the group only, and the earlier member (`tree`: counted from the root) is the left operand;
/// that of `by_node`, which is automatic where the group has nodes, also on which members share a node.
/// When sizes differ, the request of the root or of a member before it ends with an error. Throws: `Error` with
/// `bad_argument` when `root` is no member, `mine` and the root's `result` differ in size, or they are not whole
/// elements. Cost: `tree` ceil(log2(size)) messages of the whole size in sequence; `halving` twice the size in twice as
/// many rounds.
Request reduce(const Group& group,
               std::size_t root,
               std::span<const std::byte> mine,
               std::span<std::byte> result,
               const ReduceOptions& options);

/// As `reduce`, of `data`, which then has the result on every member; the same on all, bit by bit.
Request all_reduce(const Group& group, std::span<std::byte> data, const ReduceOptions& options);

template <class T, class Operation = Sum>
  requires Reduces<T, Operation>
Request reduce(
    const Group& group, std::size_t root, std::span<const T> mine, std::span<T> result, Operation operation = {}) {
  const ReduceOptions options{.reduction = elementwise<T>(std::move(operation))};
  return reduce(group, root, std::as_bytes(mine), std::as_writable_bytes(result), options);
}

template <class T, std::size_t extent, class Operation = Sum>
  requires Reduces<T, Operation>
Request all_reduce(const Group& group,
                   std::span<T, extent> data,
                   Operation operation = {},
                   ReduceWay way = ReduceWay::automatic) {
  return all_reduce(
      group, std::span<std::byte>{std::as_writable_bytes(data)}, {elementwise<T>(std::move(operation)), way});
}

/// The way that `automatic` selects without nodes: `halving` from 2 KiB and from 4 members, the limit of Thakur,
/// Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", 2005, sections 4.4 and 4.5.
[[nodiscard]] ReduceWay choose_reduce(std::size_t members, std::size_t bytes) noexcept;

}  // namespace plait::comm
