// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace plait::replay {
namespace {

/// Calls `visit(rank, operation, number)` for all of a schedule.
template <class Visit>
void for_each_operation(const Schedule& schedule, Visit visit) {
  std::size_t number = 0;
  for (std::uint32_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    for (const Lane& lane : schedule.ranks[rank].lanes) {
      for (const Operation& operation : lane.operations) {
        visit(rank, operation, number++);
      }
    }
  }
}

template <class Value>
Value quantile(std::vector<Value>& values, double part) {
  if (values.empty()) {
    return {};
  }
  const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1) + 0.5);
  std::ranges::nth_element(values, values.begin() + at);
  return values[static_cast<std::size_t>(at)];
}

Quantiles quantiles_of(const std::vector<MessageLatency>& messages) {
  std::vector<nanoseconds> values;
  for (const MessageLatency& message : messages) {
    values.push_back(message.latency);
  }
  return {quantile(values, 0.5), quantile(values, 0.9), quantile(values, 0.99)};
}

}  // namespace

std::vector<MessageLatency> logged_latencies(const Schedule& schedule) {
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t>;
  struct Ends {
    std::vector<const Operation*> receives;
    std::size_t used = 0;
  };
  std::map<Key, Ends> ends;
  for_each_operation(schedule, [&](std::uint32_t rank, const Operation& operation, std::size_t) {
    if (operation.action == Action::receive) {
      ends[{operation.peer, rank, operation.communicator, operation.tag}].receives.push_back(&operation);
    }
  });
  std::vector<MessageLatency> found;
  for_each_operation(schedule, [&](std::uint32_t rank, const Operation& operation, std::size_t) {
    if (operation.action != Action::send) {
      return;
    }
    const auto end = ends.find({rank, operation.peer, operation.communicator, operation.tag});
    if (end != ends.end() && end->second.used < end->second.receives.size()) {
      const Operation& receive = *end->second.receives[end->second.used++];
      found.push_back({rank, operation.peer, receive.at + receive.took - operation.at});
    }
  });
  return found;
}

std::vector<MessageLatency> predicted_latencies(const Schedule& schedule, const Prediction& prediction) {
  std::vector<MessageLatency> found;
  for_each_operation(schedule, [&](std::uint32_t rank, const Operation& operation, std::size_t number) {
    const OperationTimes& send = prediction.times[number];
    if (operation.action != Action::send || send.partner == trace::nothing) {
      return;
    }
    const OperationTimes& receive = prediction.times[send.partner];
    const nanoseconds end = receive.told != OperationTimes::unknown ? receive.told : receive.moved;
    found.push_back({rank, operation.peer, end - send.posted});
  });
  return found;
}

Agreement compare(std::vector<MessageLatency> logged, std::vector<MessageLatency> predicted) {
  Agreement agreement;
  agreement.logged = quantiles_of(logged);
  agreement.predicted = quantiles_of(predicted);
  const auto by_pair = [](const MessageLatency& a, const MessageLatency& b) {
    return std::tie(a.source, a.destination) < std::tie(b.source, b.destination);
  };
  std::ranges::stable_sort(logged, by_pair);
  std::ranges::stable_sort(predicted, by_pair);
  std::vector<double> errors;
  auto other = predicted.cbegin();
  for (const MessageLatency& message : logged) {
    while (other != predicted.cend() && by_pair(*other, message)) {
      ++other;
    }
    if (other == predicted.cend() || by_pair(message, *other)) {
      continue;
    }
    const auto was = static_cast<double>(std::max(nanoseconds{1}, message.latency).count());
    errors.push_back(std::abs(static_cast<double>((other->latency - message.latency).count())) / was);
    ++other;
  }
  agreement.messages = errors.size();
  agreement.error_half = quantile(errors, 0.5);
  agreement.error_nine_tenths = quantile(errors, 0.9);
  agreement.error_most = quantile(errors, 0.99);
  return agreement;
}

}  // namespace plait::replay
