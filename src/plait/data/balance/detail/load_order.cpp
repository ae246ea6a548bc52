// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/detail/load_order.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace plait::data::balance::detail {
namespace {

constexpr unsigned digit_bits = 11;
constexpr unsigned digits = 6;  // of 64 bits
constexpr std::size_t few = 256;
using Counts = std::array<std::uint32_t, std::size_t{1} << digit_bits>;

/// Numbers of 0 or more have the order of their bits; turned around, the heaviest comes first.
std::uint64_t digit_of(const LoadOf& one, unsigned digit) {
  const auto bits = ~std::bit_cast<std::uint64_t>(one.load + 0.0);  // + 0: -0 is 0
  return bits >> (digit * digit_bits) & ((std::uint64_t{1} << digit_bits) - 1);
}

}  // namespace

void sort_heaviest_first(std::vector<LoadOf>& loads) {
  if (loads.size() <= few) {
    std::ranges::stable_sort(loads, [](const LoadOf& one, const LoadOf& other) { return one.load > other.load; });
    return;
  }
  std::vector<Counts> counts(digits);
  for (const LoadOf& one : loads) {
    for (unsigned digit = 0; digit < digits; ++digit) {
      ++counts[digit][digit_of(one, digit)];
    }
  }
  std::vector<LoadOf> sorted(loads.size());
  for (unsigned digit = 0; digit < digits; ++digit) {
    Counts& places = counts[digit];
    if (std::ranges::find(places, loads.size()) != places.end()) {
      continue;  // all have the same here
    }
    std::uint32_t before = 0;
    for (std::uint32_t& place : places) {
      before += std::exchange(place, before);
    }
    for (const LoadOf& one : loads) {
      sorted[places[digit_of(one, digit)]++] = one;
    }
    loads.swap(sorted);
  }
}

}  // namespace plait::data::balance::detail
