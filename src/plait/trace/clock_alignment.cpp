// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/clock_alignment.hpp"

#include <algorithm>
#include <cmath>

namespace plait::trace {
namespace {

/// Clocks drift by parts in a million; what is above this, beside the slack, is a bad record.
constexpr double drift_max = 1e-3;
constexpr double drift_slack_ns = 1e5;
constexpr double covered_part_min = 0.5;

double count(nanoseconds time) noexcept {
  return static_cast<double>(time.count());
}

/// Halves first: a sum of two times from a damaged file may not fit.
nanoseconds middle(nanoseconds a, nanoseconds b) noexcept {
  return a / 2 + b / 2;
}

}  // namespace

ClockEvent clock_exchange(nanoseconds sent, nanoseconds remote, nanoseconds received) noexcept {
  const nanoseconds round_trip = received - sent;
  return {.time = sent + round_trip / 2, .offset = remote - (sent + round_trip / 2), .round_trip = round_trip};
}

nanoseconds ClockLine::to_rank_zero(nanoseconds time) const noexcept {
  const auto drifted = nanoseconds{std::llround(drift * count(time - anchor))};
  return time + offset + drifted;
}

ClockLine fit_clock(std::span<const ClockEvent> exchanges,
                    nanoseconds last_event,
                    nanoseconds wall_clock_offset) noexcept {
  if (exchanges.empty()) {
    return {.offset = wall_clock_offset};
  }
  const auto [first, last] = std::ranges::minmax(exchanges, {}, &ClockEvent::time);
  const nanoseconds divide = middle(first.time, last.time);
  const ClockEvent* early = nullptr;
  const ClockEvent* late = nullptr;
  for (const ClockEvent& exchange : exchanges) {
    const ClockEvent*& best = exchange.time <= divide ? early : late;
    if (best == nullptr || exchange.round_trip < best->round_trip) {
      best = &exchange;
    }
  }
  if (early != nullptr && late != nullptr) {
    const double between = count(late->time) - count(early->time);
    const double rise = count(late->offset) - count(early->offset);
    if (between >= covered_part_min * std::max(1.0, count(last_event)) &&
        std::abs(rise) <= drift_max * between + drift_slack_ns) {
      return {.offset = early->offset,
              .anchor = early->time,
              .drift = rise / between,
              .error = std::max(early->round_trip, late->round_trip) / 2};
    }
  }
  const auto best = std::ranges::min_element(exchanges, {}, &ClockEvent::round_trip);
  return {.offset = best->offset, .error = best->round_trip / 2};
}

}  // namespace plait::trace
