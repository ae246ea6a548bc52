// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/trace/event.hpp"

namespace plait::replay::detail {

/// A program that tests or probes again within this time polls; the time between is too short for other calls.
inline constexpr nanoseconds polling_gap_max{2000};

/// Whether a call is a test or probe that found nothing.
[[nodiscard]] inline bool is_poll(const trace::CallEvent& call) noexcept {
  return call.what == trace::CallClass::completes && call.count == 0;
}
/// The number of polls that the record of a poll represents.
[[nodiscard]] inline std::int64_t poll_count(const trace::CallEvent& call) noexcept {
  return std::int64_t{call.repeats} + 1;
}

/// Returns which calls of a thread are tests and probes of a loop that does other work, whether they find something or
/// not.
///
/// A loop that waits ends when one of its polls finds something. A loop that works polls as often as it has work, and
/// goes on with other calls although it found nothing: its time is computing, and it would have gone on without what it
/// found. Each place that polls is one or the other: it works if a quarter of the time of its long series of polls ends
/// so. `calls`: of one thread, in order. Cost: O(calls log places).
[[nodiscard]] std::vector<bool> tests_of_work(std::span<const trace::CallEvent* const> calls);

}  // namespace plait::replay::detail
