// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "plait/replay/detail/places.hpp"

namespace plait::replay {
namespace {

template <class Value>
Value quantile(std::vector<Value>& values, double part) {
  if (values.empty()) {
    return {};
  }
  const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1) + 0.5);
  std::ranges::nth_element(values, values.begin() + at);
  return values[static_cast<std::size_t>(at)];
}

template <class Value>
Quantiles<Value> quantiles_of(std::vector<Value> values) {
  return {quantile(values, 0.5), quantile(values, 0.9), quantile(values, 0.99)};
}

std::vector<nanoseconds> latencies_of(const std::vector<MessageLatency>& messages) {
  std::vector<nanoseconds> values;
  std::ranges::transform(messages, std::back_inserter(values), &MessageLatency::latency);
  return values;
}

}  // namespace

std::vector<MessageLatency> logged_latencies(const Schedule& schedule) {
  std::vector<detail::PairOfPlaces> pairs = detail::pair_operations(schedule);
  std::ranges::sort(pairs, {}, &detail::PairOfPlaces::send);
  std::vector<MessageLatency> found;
  for (const detail::PairOfPlaces& pair : pairs) {
    const Operation& receive = operation_at(schedule, pair.receive);
    const nanoseconds latency = receive.at + receive.took - operation_at(schedule, pair.send).at;
    found.push_back({pair.send.rank, pair.receive.rank, latency});
  }
  return found;
}

std::vector<MessageLatency> predicted_latencies(const Schedule& schedule, const Prediction& prediction) {
  std::vector<MessageLatency> found;
  std::size_t number = 0;
  detail::for_each_operation(schedule, [&](const detail::Place& place, const Operation& operation) {
    const OperationTimes& send = prediction.times[number++];
    if (operation.action != Action::send || send.partner == trace::nothing) {
      return;
    }
    const OperationTimes& receive = prediction.times[send.partner];
    const nanoseconds end = receive.notified != OperationTimes::unknown ? receive.notified : receive.moved;
    found.push_back({place.rank, operation.peer, end - send.posted});
  });
  return found;
}

Agreement compare(std::vector<MessageLatency> logged, std::vector<MessageLatency> predicted) {
  Agreement agreement;
  agreement.logged = quantiles_of(latencies_of(logged));
  agreement.predicted = quantiles_of(latencies_of(predicted));
  std::ranges::stable_sort(logged, {}, &MessageLatency::key);
  std::ranges::stable_sort(predicted, {}, &MessageLatency::key);
  std::vector<double> errors;
  detail::match_ends(logged, predicted, [&](const MessageLatency* was, const MessageLatency* is) {
    if (was != nullptr && is != nullptr) {
      const auto difference = static_cast<double>((is->latency - was->latency).count());
      errors.push_back(std::abs(difference) / static_cast<double>(std::max(nanoseconds{1}, was->latency).count()));
    }
  });
  agreement.messages = errors.size();
  agreement.error = quantiles_of(std::move(errors));
  return agreement;
}

}  // namespace plait::replay
