// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/uncertainty.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "plait/replay/predict/predict.hpp"

namespace plait::replay {
namespace {

/// The times of each kind of task in each step.
std::vector<std::map<std::uint32_t, double>> times_in_steps(const TaskRun& run) {
  std::vector<std::map<std::uint32_t, double>> times(run.kinds.size());
  for (const RunNode& node : run.nodes) {
    if (node.role == NodeRole::task) {
      times[node.kind][node.step] += static_cast<double>((node.took - node.stolen).count());
    }
  }
  return times;
}

/// The standard error of the sum of all tasks' times, as part of it: steps of one kind are its samples.
double error_of_sum(const std::vector<std::map<std::uint32_t, double>>& times) {
  double sum = 0;
  double variance = 0;
  for (const auto& of_kind : times) {
    const auto count = static_cast<double>(of_kind.size());
    double own = 0;
    double squares = 0;
    for (const auto& [step, time] : of_kind) {
      own += time;
      squares += time * time;
    }
    sum += own;
    variance += count < 2 ? 0 : std::max(0.0, squares - own * own / count) * count / (count - 1);
  }
  return sum > 0 ? std::sqrt(variance) / sum : 0;
}

}  // namespace

std::optional<nanoseconds> uncertainty(const Scenario& scenario, nanoseconds predicted) {
  const std::optional<Spread>& spread = scenario.platform.spread;
  if (!spread) {
    return std::nullopt;
  }
  const std::array<WhatIf, 3> longer{{{.kind = WhatIf::Kind::latency, .value = 1 + spread->latency},
                                      {.kind = WhatIf::Kind::overhead, .value = 1 + spread->overhead},
                                      {.kind = WhatIf::Kind::bandwidth, .value = 1 / (1 + spread->bytes)}}};
  double squares = 0;
  for (const WhatIf& what_if : longer) {
    const Scenario changed = with(scenario, {what_if}).value();
    const nanoseconds total = predict(*changed.schedule, changed.platform, changed.options).value().total;
    squares += std::pow(static_cast<double>((total - predicted).count()), 2);
  }
  return nanoseconds{std::llround(std::sqrt(squares))};
}

nanoseconds TaskUncertainty::whole() const noexcept {
  return nanoseconds{
      std::llround(std::hypot(static_cast<double>(model.count()), static_cast<double>(computing.count())))};
}

TaskUncertainty uncertainty_of_tasks(const TaskRun& run,
                                     const Platform& platform,
                                     const TaskOptions& options,
                                     nanoseconds predicted,
                                     nanoseconds unchanged) {
  const auto times = times_in_steps(run);
  std::set<std::uint32_t> steps;
  for (const auto& of_kind : times) {
    for (const auto& [step, time] : of_kind) {
      steps.insert(step);
    }
  }
  TaskUncertainty result{.steps = static_cast<std::uint32_t>(steps.size())};
  if (run.length > nanoseconds{}) {
    const double part =
        std::abs(static_cast<double>((unchanged - run.length).count())) / static_cast<double>(run.length.count());
    result.model = nanoseconds{std::llround(part * static_cast<double>(predicted.count()))};
  }
  if (const double part = error_of_sum(times); part > 0) {
    TaskOptions longer = options;
    longer.kind_factor.resize(run.kinds.size(), 1);
    for (double& factor : longer.kind_factor) {
      factor *= 1 + part;
    }
    result.computing = predict_tasks(run, platform, longer).value().total - predicted;
  }
  return result;
}

}  // namespace plait::replay
