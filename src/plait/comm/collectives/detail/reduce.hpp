// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>

#include "plait/comm/collectives/detail/call.hpp"
#include "plait/comm/collectives/reduce.hpp"

namespace plait::comm::detail {

/// A reduction whose arguments are checked.
struct Reduce {
  Call call;
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
    return call.has_failed() ? std::span<const std::byte>{} : data;
  }
};

/// A power of two of the members takes part; of the first `2 * surplus`, each odd one leaves its row to the even one
/// before it. Who takes part is counted anew, in the order of members.
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
[[nodiscard]] std::span<Byte> parts(
    std::span<Byte> row, const Reduction& reduction, std::size_t count, std::size_t first, std::size_t last) {
  const std::size_t elements = row.size() / reduction.element_bytes;
  // The first parts have one element more when they cannot be the same.
  const auto begin = [&](std::size_t part) {
    return (elements / count * part + std::min(part, elements % count)) * reduction.element_bytes;
  };
  return row.subspan(begin(first), begin(last) - begin(first));
}

// The ways, one a file.
Request tree_reduce(Reduce reduce);
Request halving_reduce(Reduce reduce);
Request doubling_all_reduce(Reduce reduce);
Request halving_all_reduce(Reduce reduce);

}  // namespace plait::comm::detail
