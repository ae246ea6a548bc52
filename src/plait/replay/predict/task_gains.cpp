// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/task_gains.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace plait::replay {
namespace {

constexpr double twice_as_fast = 0.5;
/// Kinds below this part of the time in tasks are not tried.
constexpr double small_part = 0.01;
constexpr std::size_t named_max = 5;

/// The kinds that take most time, largest first.
std::vector<std::uint32_t> large_kinds(const TaskRun& run, std::size_t most) {
  std::vector<std::pair<nanoseconds, std::uint32_t>> sums(run.kinds.size());
  nanoseconds whole{};
  for (std::uint32_t kind = 0; kind < run.kinds.size(); ++kind) {
    sums[kind].second = kind;
  }
  for (const RunNode& node : run.nodes) {
    if (node.role == NodeRole::task) {
      sums[node.kind].first += node.took;
      whole += node.took;
    }
  }
  std::ranges::sort(sums, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::uint32_t> kinds;
  for (const auto& [sum, kind] : sums) {
    if (kinds.size() < most && static_cast<double>(sum.count()) > small_part * static_cast<double>(whole.count())) {
      kinds.push_back(kind);
    }
  }
  return kinds;
}

void speed_up(LinkCosts& costs) {
  costs.latency_ns *= twice_as_fast;
  costs.gap_ns *= twice_as_fast;
  costs.gap_per_byte_ns *= twice_as_fast;
  for (std::vector<ByteTime>* const curve : {&costs.moving, &costs.occupying}) {
    for (ByteTime& time : *curve) {
      time.time_ns *= twice_as_fast;
    }
  }
}

}  // namespace

Result<std::vector<TaskGain>> gains_of(const TaskRun& run,
                                       const Platform& platform,
                                       const TaskOptions& options,
                                       std::size_t kinds_max) {
  Result<TaskPrediction> base = predict_tasks(run, platform, options);
  if (!base) {
    return base.error();
  }
  std::vector<TaskGain> gains;
  const auto add = [&](std::string what, const Platform& on, const TaskOptions& with) {
    const nanoseconds total = predict_tasks(run, on, with).value().total;
    const double whole = static_cast<double>(std::max<std::int64_t>(1, base.value().total.count()));
    gains.push_back({std::move(what), 1 - static_cast<double>(total.count()) / whole});
  };
  for (const std::uint32_t kind : large_kinds(run, kinds_max)) {
    TaskOptions with = options;
    with.kind_factor.resize(run.kinds.size(), 1);
    with.kind_factor[kind] *= twice_as_fast;
    add(fmt::format("`{}`", run.kinds[kind]), platform, with);
  }
  if (base.value().messages > 0) {
    Platform faster = platform;
    speed_up(faster.between_hosts);
    speed_up(faster.within_host);
    add("a network", faster, options);
  }
  TaskOptions with = options;
  with.program_factor *= twice_as_fast;
  add("the program outside of tasks", platform, with);
  std::ranges::stable_sort(gains, [](const TaskGain& a, const TaskGain& b) { return a.gain > b.gain; });
  return gains;
}

std::string sentence_of(const std::vector<TaskGain>& gains) {
  std::string sentence;
  std::size_t named = 0;
  for (const TaskGain& gain : gains) {
    const double percent = 100 * gain.gain;
    const bool is_network = gain.what == "a network";
    if (++named > named_max && !is_network) {
      continue;
    }
    const std::string amount = percent < 0.5 ? "nothing" : fmt::format("{:.0f} %", percent);
    const std::string_view first = is_network ? "the network" : std::string_view{gain.what};
    sentence += sentence.empty() ? fmt::format("Making {} twice as fast would gain {}", first, amount)
                                 : fmt::format("; {}{}, {}", gain.what, is_network ? " twice as fast" : "", amount);
  }
  return sentence.empty() ? sentence : sentence + ".";
}

Result<std::uint32_t> find_kind(const TaskRun& run, const std::string& name) {
  const auto found = std::ranges::find(run.kinds, name);
  if (found == run.kinds.end()) {
    return Error{ErrorCode::bad_argument,
                 fmt::format("this run has no tasks of kind '{}', so nothing is known of their time; it has: {}",
                             name,
                             fmt::join(run.kinds, ", "))};
  }
  return static_cast<std::uint32_t>(found - run.kinds.begin());
}

}  // namespace plait::replay
