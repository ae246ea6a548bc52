// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/computing.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plait::replay {
namespace {

/// The beginning or end of computing, in the time of the log.
struct Edge {
  nanoseconds at{};
  Operation* operation = nullptr;
  bool is_end = false;
};

/// In the order of time; ends before beginnings.
std::vector<Edge> edges_of(std::span<RankSchedule> ranks) {
  std::vector<Edge> edges;
  for (RankSchedule& rank : ranks) {
    for (Stream& stream : rank.streams) {
      for (Operation& operation : stream.operations) {
        if (operation.action == Action::compute && operation.took > nanoseconds{}) {
          edges.push_back({operation.at, &operation, false});
          edges.push_back({operation.at + operation.took, &operation, true});
        }
      }
    }
  }
  std::ranges::stable_sort(
      edges, [](const Edge& a, const Edge& b) { return a.at != b.at ? a.at < b.at : a.is_end && !b.is_end; });
  return edges;
}

/// Of the computing of one host: leaves out the time in which others had the cores. All that compute at once have the
/// same share.
void leave_out_others(std::span<RankSchedule> ranks, std::uint32_t cores) {
  std::vector<Operation*> active;
  nanoseconds since{};
  for (const Edge& edge : edges_of(ranks)) {
    if (active.size() > cores) {
      const auto all = static_cast<std::int64_t>(active.size());
      const nanoseconds of_others = (edge.at - since) * (all - static_cast<std::int64_t>(cores)) / all;
      std::ranges::for_each(active, [of_others](Operation* operation) { operation->took -= of_others; });
    }
    since = edge.at;
    if (edge.is_end) {
      std::erase(active, edge.operation);
    } else {
      active.push_back(edge.operation);
    }
  }
}

/// Of a stream's computing: leaves out what was stolen. What is more than an operation took is of those before it, back
/// to a wait: streams are played ahead of the messages that disturb them.
void leave_out_stolen(std::span<Operation> operations, std::span<const nanoseconds> stolen) {
  nanoseconds left{};
  for (std::size_t i = operations.size(); i-- > 0;) {
    left += stolen[i];
    if (operations[i].action == Action::compute) {
      const nanoseconds part = std::min(operations[i].took, left);
      operations[i].took -= part;
      left -= part;
    } else if (operations[i].action == Action::wait) {
      left = {};
    }
  }
}

}  // namespace

Result<Schedule> with_computing_alone(Schedule schedule, const Platform& recorded_on, const PredictOptions& options) {
  if (recorded_on.shares_cores()) {
    const std::span<RankSchedule> ranks{schedule.ranks};
    for (std::size_t first = 0; first < ranks.size(); first += recorded_on.ranks_per_host) {
      leave_out_others(ranks.subspan(first, std::min<std::size_t>(recorded_on.ranks_per_host, ranks.size() - first)),
                       recorded_on.cores_per_host);
    }
  }
  PredictOptions noting = options;
  noting.computing = ComputingTimes::with_network;
  noting.keeps_times = false;
  Result<Prediction> prediction = predict(schedule, recorded_on, noting);
  if (!prediction) {
    return prediction.error();
  }
  std::span<const nanoseconds> stolen{prediction.value().stolen};
  for (RankSchedule& rank : schedule.ranks) {
    for (Stream& stream : rank.streams) {
      leave_out_stolen(stream.operations, stolen.first(stream.operations.size()));
      stolen = stolen.subspan(stream.operations.size());
    }
  }
  return schedule;
}

}  // namespace plait::replay
