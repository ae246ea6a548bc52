// SPDX-License-Identifier: Apache-2.0
#include "plait/task/run/detail/costs.hpp"

#include <algorithm>

namespace plait::task::detail {

namespace {

constexpr float cost_smoothing = 0.25F;
constexpr float kind_cost_smoothing = 0.125F;
/// A measurement counts as at most this many times the mean of its kind, or the task's own mean.
constexpr float growth_max = 8;
constexpr std::uint32_t short_tasks_per_measured = 16;

}  // namespace

bool must_measure(Worker& worker, Node& node) noexcept {
  worker.suppose_cost(node);
  if (node.cost_ns > 0 && node.cost_ns < short_ns && --worker.until_measured > 0 && !worker.trace.is_on()) {
    return false;
  }
  worker.until_measured = short_tasks_per_measured;
  return true;
}

void learn(const Worker& worker, Node& node, nanoseconds took) noexcept {
  auto cost = std::max(1.0F, static_cast<float>(took.count()));
  const bool is_first = node.cost_source != CostSource::measured;
  if (node.kind.value() < worker.share->kind_cost_ns.size()) {
    float& mean = worker.share->kind_cost_ns[node.kind.value()];
    if (mean > 0) {  // else a descheduled thread would count as a long task for many runs
      cost = std::min(cost, growth_max * std::max(mean, is_first ? 0 : node.cost_ns));
    }
    mean = mean > 0 ? mean + kind_cost_smoothing * (cost - mean) : cost;
  }
  node.cost_ns = is_first ? cost : node.cost_ns + cost_smoothing * (cost - node.cost_ns);
  node.cost_source = CostSource::measured;
}

void record(const Worker& worker, const Node& node, trace::TaskRole role, std::uint64_t object, nanoseconds start) {
  worker.trace.task({.kind = worker.run->trace_name_of(node),
                     .role = role,
                     .object = object,
                     .ready = node.ready,
                     .start = start,
                     .end = worker.now,
                     .id = worker.run->id_of(node),
                     .released_by = node.caused_by,
                     .step = worker.run->step,
                     .place = node.place()});
}

}  // namespace plait::task::detail
