// SPDX-License-Identifier: Apache-2.0
// Exchanges along a binomial tree with rank 0 at its root, in the rounds of a balancer's parts. The tree below a rank
// is that rank and those behind it, up to its lowest bit.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/data/balance/rounds.hpp"

namespace plait::data::balance::detail {

/// On rank 0 what each rank gave, by rank; elsewhere nothing. ceil(log2(ranks)) rounds, ranks - 1 messages.
[[nodiscard]] Steps<std::vector<Bytes>> gather(Rounds& rounds, Bytes mine);

/// To each rank its own of what rank 0 gives, which has one for each; elsewhere `all` is ignored. As `gather`.
[[nodiscard]] Steps<Bytes> scatter(Rounds& rounds, std::vector<Bytes> all);

/// `values` of all ranks combined, the same on all, bit by bit: always in the same order. Twice `gather`.
template <class T, class Combine>
  requires std::is_trivially_copyable_v<T>
[[nodiscard]] Steps<T> all_reduce(Rounds& rounds, T value, Combine combine) {
  const std::uint32_t self = rounds.self().value();
  const std::uint32_t count = rounds.rank_count();
  std::uint32_t top = 1;
  for (std::uint32_t bit = 1; bit < count; bit <<= 1U) {
    top = bit;
    const bool is_below = self % (2 * bit) == bit;
    const bool is_above = self % (2 * bit) == 0 && self + bit < count;
    std::vector<Mail> out;
    if (is_below) {
      out.push_back({Rank{self - bit}, bytes_of(std::span<const T>{&value, 1})});
    }
    const std::vector<Mail> inbox = co_await rounds.exchange(std::move(out), is_above ? 1 : 0);
    if (is_above) {
      value = combine(value, values_of<T>(inbox.front().bytes).front());
    }
  }
  for (std::uint32_t bit = top; bit >= 1 && count > 1; bit >>= 1U) {
    const bool is_below = self % (2 * bit) == bit;
    std::vector<Mail> out;
    if (self % (2 * bit) == 0 && self + bit < count) {
      out.push_back({Rank{self + bit}, bytes_of(std::span<const T>{&value, 1})});
    }
    const std::vector<Mail> inbox = co_await rounds.exchange(std::move(out), is_below ? 1 : 0);
    if (is_below) {
      value = values_of<T>(inbox.front().bytes).front();
    }
  }
  co_return value;
}

}  // namespace plait::data::balance::detail
