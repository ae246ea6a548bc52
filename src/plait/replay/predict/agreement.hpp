// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/replay/predict/predict.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// One message's way from the call that sends it to when its receiver was told.
struct MessageLatency {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  nanoseconds latency{};
};

/// Of all messages of a log, each rank's sends in their order. Messages with one end only are left out. Cost: sorts
/// them.
[[nodiscard]] std::vector<MessageLatency> logged_latencies(const Schedule& schedule);

/// As predicted. Expects: the prediction is of this schedule and keeps times.
[[nodiscard]] std::vector<MessageLatency> predicted_latencies(const Schedule& schedule, const Prediction& prediction);

/// Median and tails of a distribution of times.
struct Quantiles {
  nanoseconds half{};
  nanoseconds nine_tenths{};
  nanoseconds most{};  ///< 99 of 100.
};

/// How a prediction agrees with what happened.
struct Agreement {
  double total_error = 0;  ///< (predicted - logged) / logged.
  std::size_t messages = 0;
  Quantiles logged;
  Quantiles predicted;
  double error_half = 0;  ///< Of the messages' relative errors, without sign: the median,
  double error_nine_tenths = 0;
  double error_most = 0;
};

/// Compares the n-th message from each rank to each other in one with the n-th in the other.
[[nodiscard]] Agreement compare(std::vector<MessageLatency> logged, std::vector<MessageLatency> predicted);

}  // namespace plait::replay
