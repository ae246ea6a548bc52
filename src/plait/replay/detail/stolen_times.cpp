// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/stolen_times.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace plait::replay::detail {
namespace {

/// Fewer tasks with or without messages show nothing.
constexpr std::size_t tasks_min = 10;
/// Longer tasks, in units of the median, were interrupted.
constexpr double length_max = 5;
/// What the mean length of a task that is met at a random time may be, in units of the mean length.
constexpr double unequal_max = 1.25;
/// A copy is faster, also into memory that was never touched: whatever took longer was something else.
constexpr double ns_per_byte_max = 2;
/// Of the time of a task.
constexpr double stolen_max = 0.8;

struct Loaded {
  std::uint32_t node = RunNode::none;
  std::uint64_t bytes = 0;  ///< That arrived or left while it ran.
};

/// The tasks of one rank, by start, with the bytes that moved while each ran.
std::vector<Loaded> loads_of(const TaskRun& run, std::uint32_t rank) {
  std::vector<Loaded> tasks;
  for (std::uint32_t node = 0; node < run.nodes.size(); ++node) {
    if (run.nodes[node].role == NodeRole::task && run.nodes[node].rank == rank) {
      tasks.push_back({node});
    }
  }
  const auto start = [&](const Loaded& task) { return run.nodes[task.node].start; };
  std::ranges::sort(tasks, {}, start);
  const auto add = [&](nanoseconds at, std::uint64_t bytes) {
    const auto after = std::ranges::upper_bound(tasks, at, {}, start);
    if (after != tasks.begin() && at <= run.nodes[(after - 1)->node].end) {
      (after - 1)->bytes += bytes;
    }
  };
  for (const RunMessage& message : run.messages) {
    if (run.nodes[message.send].rank == rank) {
      add(message.left, message.bytes);
    }
    if (run.nodes[message.receive].rank == rank) {
      add(message.posted + message.took, message.bytes);
    }
  }
  return tasks;
}

/// Time beyond that of tasks without messages, and the bytes of the tasks that took it.
struct Excess {
  double time_ns = 0;
  double bytes = 0;
};

Excess excess_of(const TaskRun& run, const std::vector<Loaded>& tasks) {
  std::vector<double> without;
  for (const Loaded& task : tasks) {
    if (task.bytes == 0) {
      without.push_back(static_cast<double>(run.nodes[task.node].took.count()));
    }
  }
  if (without.size() < tasks_min || tasks.size() - without.size() < tasks_min) {
    return {};
  }
  const auto middle = without.begin() + static_cast<std::ptrdiff_t>(without.size() / 2);
  std::ranges::nth_element(without, middle);
  const double longest = length_max * *middle;
  double sum = 0;
  double squares = 0;
  double interrupted = 0;
  for (const double time : without) {
    const double usual = std::min(time, longest);
    sum += usual;
    squares += usual * usual;
    interrupted += time - usual;
  }
  const auto count = static_cast<double>(without.size());
  const double met = sum > 0 ? squares / sum : 0;  // messages meet longer tasks more often
  if (met > unequal_max * sum / count) {
    return {};
  }
  Excess excess;
  for (const Loaded& task : tasks) {
    if (task.bytes > 0) {
      excess.time_ns += static_cast<double>(run.nodes[task.node].took.count()) - met - interrupted / count;
      excess.bytes += static_cast<double>(task.bytes);
    }
  }
  return excess;
}

}  // namespace

void find_stolen_times(TaskRun& run) {
  if (run.workers != 1 || run.messages.empty()) {
    return;
  }
  Excess whole;
  std::vector<Loaded> loaded;
  for (std::uint32_t rank = 0; rank < run.ranks; ++rank) {
    std::vector<std::vector<Loaded>> of_kind(run.kinds.size());
    for (const Loaded& task : loads_of(run, rank)) {
      of_kind[run.nodes[task.node].kind].push_back(task);
      if (task.bytes > 0) {
        loaded.push_back(task);
      }
    }
    for (const std::vector<Loaded>& tasks : of_kind) {
      const Excess excess = excess_of(run, tasks);
      whole.time_ns += excess.time_ns;
      whole.bytes += excess.bytes;
    }
  }
  if (whole.time_ns <= 0 || whole.time_ns > ns_per_byte_max * whole.bytes) {
    return;
  }
  run.stolen_ns_per_byte = whole.time_ns / whole.bytes;
  for (const Loaded& task : loaded) {
    RunNode& node = run.nodes[task.node];
    const double most = stolen_max * static_cast<double>(node.took.count());
    node.stolen = nanoseconds{
        static_cast<nanoseconds::rep>(std::min(most, run.stolen_ns_per_byte * static_cast<double>(task.bytes)))};
  }
}

}  // namespace plait::replay::detail
