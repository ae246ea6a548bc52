// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/replay/predict/predict.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// One message's way from the call that sends it to when its receiver was notified.
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

/// Median and tails of a distribution.
template <class Value>
struct Quantiles {
  Value half{};
  Value nine_tenths{};
  Value most{};  ///< 99 of 100.
};

/// How a prediction agrees with what happened.
struct Agreement {
  double total_error = 0;  ///< (predicted - logged) / logged.
  std::size_t messages = 0;
  Quantiles<nanoseconds> logged;
  Quantiles<nanoseconds> predicted;
  Quantiles<double> error;  ///< Of the messages' relative errors, without sign.
};

/// Compares the n-th message from each rank to each other in one with the n-th in the other.
[[nodiscard]] Agreement compare(std::vector<MessageLatency> logged, std::vector<MessageLatency> predicted);

}  // namespace plait::replay
