// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "plait/trace/detail/layout.hpp"

/// What the values of damaged records give away; used by decode.hpp.
namespace plait::trace::detail {

[[nodiscard]] constexpr bool is_impossible(std::initializer_list<nanoseconds> times) noexcept {
  return std::ranges::any_of(times, [](nanoseconds t) { return t.count() > time_max_ns || t.count() < -time_max_ns; });
}

[[nodiscard]] constexpr bool is_bad_worker(std::uint16_t worker) noexcept {
  return worker >= worker_count_max && worker != no_worker;
}

[[nodiscard]] constexpr bool has_impossible_size(std::span<const std::uint64_t> sizes) noexcept {
  return std::ranges::any_of(sizes, [](std::uint64_t size) { return size > size_max; });
}

[[nodiscard]] constexpr bool has_other_rank(std::span<const std::uint32_t> ranks, std::uint32_t rank_count) noexcept {
  return std::ranges::any_of(ranks, [&](std::uint32_t rank) { return rank >= rank_count && rank != nothing; });
}

template <class Event, class Take>
const char* take_if_true(const char* trouble, const Event& event, Take& take) {
  if (trouble == nullptr) {
    take(event);
  }
  return trouble;
}

}  // namespace plait::trace::detail
