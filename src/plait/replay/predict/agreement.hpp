// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/replay/predict/predict.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// The time of one message from the call that sends it until its receiver is notified.
struct MessageLatency {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  nanoseconds latency{};

  [[nodiscard]] auto key() const { return std::pair{source, destination}; }
};

/// Returns the latencies of a log, each rank's sends in order; messages without a partner are omitted. Cost: sorts
/// them.
[[nodiscard]] std::vector<MessageLatency> logged_latencies(const Schedule& schedule);

/// Returns the predicted latencies. Expects: the prediction is of this schedule and keeps times.
[[nodiscard]] std::vector<MessageLatency> predicted_latencies(const Schedule& schedule, const Prediction& prediction);

/// Median and tails of a distribution.
template <class Value>
struct Quantiles {
  Value half{};
  Value nine_tenths{};
  Value most{};  ///< 99 %.
};

/// How a prediction agrees with a log.
struct Agreement {
  double total_error = 0;  ///< (predicted - logged) / logged.
  std::size_t messages = 0;
  Quantiles<nanoseconds> logged;
  Quantiles<nanoseconds> predicted;
  Quantiles<double> error;  ///< Of the absolute relative errors of messages.
};

/// Compares, for each pair of ranks, the n-th logged message with the n-th predicted one.
[[nodiscard]] Agreement compare(std::vector<MessageLatency> logged, std::vector<MessageLatency> predicted);

}  // namespace plait::replay
