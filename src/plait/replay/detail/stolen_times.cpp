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

/// What occupied the worker of each rank, by start.
std::vector<std::vector<std::uint32_t>> occupied(const TaskRun& run, bool with_program) {
  std::vector<std::vector<std::uint32_t>> of_rank(run.ranks);
  for (std::uint32_t node = 0; node < run.nodes.size(); ++node) {
    const NodeRole role = run.nodes[node].role;
    if (role == NodeRole::task || (with_program && role == NodeRole::program)) {
      of_rank[run.nodes[node].rank].push_back(node);
    }
  }
  for (std::vector<std::uint32_t>& nodes : of_rank) {
    std::ranges::sort(nodes, {}, [&](std::uint32_t node) { return run.nodes[node].start; });
  }
  return of_rank;
}

void take_from(RunNode& node, double time_ns) {
  const double most = stolen_max * static_cast<double>(node.took.count());
  const double sum = static_cast<double>(node.stolen.count()) + time_ns;
  node.stolen = nanoseconds{static_cast<nanoseconds::rep>(std::min(most, sum))};
}

/// Each measured time is divided evenly over its interval. Where the worker was idle, it took nothing from a task.
void take_measured(TaskRun& run, const std::vector<BackgroundTime>& measured) {
  const auto of_rank = occupied(run, true);
  for (const BackgroundTime& time : measured) {
    const std::vector<std::uint32_t>& nodes = of_rank.at(time.rank);
    const double rate = static_cast<double>(time.took.count()) / static_cast<double>((time.end - time.start).count());
    auto at =
        std::ranges::upper_bound(nodes, time.start, {}, [&](std::uint32_t node) { return run.nodes[node].start; });
    for (at -= at == nodes.begin() ? 0 : 1; at != nodes.end() && run.nodes[*at].start < time.end; ++at) {
      RunNode& node = run.nodes[*at];
      const nanoseconds both = std::min(time.end, node.end) - std::max(time.start, node.start);
      take_from(node, rate * static_cast<double>(std::max(nanoseconds{}, both).count()));
    }
  }
  double stolen_ns = 0;
  double bytes = 0;
  for (const RunNode& node : run.nodes) {
    stolen_ns += static_cast<double>(node.stolen.count());
  }
  for (const RunMessage& message : run.messages) {
    bytes +=
        run.nodes[message.send].rank == run.nodes[message.receive].rank ? 0 : 2 * static_cast<double>(message.bytes);
  }
  run.stolen = {.ns_per_byte = bytes > 0 ? stolen_ns / bytes : 0, .is_measured = true};
}

struct Loaded {
  std::uint32_t node = RunNode::none;
  std::uint64_t bytes = 0;  ///< That arrived or left while it ran.
};

/// The tasks of one rank, by start, with the bytes that moved while each ran.
std::vector<Loaded> loads_of(const TaskRun& run, std::uint32_t rank, const std::vector<std::uint32_t>& nodes) {
  std::vector<Loaded> tasks;
  tasks.reserve(nodes.size());
  for (const std::uint32_t node : nodes) {
    tasks.push_back({node});
  }
  const auto start = [&](const Loaded& task) { return run.nodes[task.node].start; };
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

/// For traces without measured times.
void take_estimated(TaskRun& run) {
  const auto of_rank = occupied(run, false);
  Excess whole;
  std::vector<Loaded> loaded;
  for (std::uint32_t rank = 0; rank < run.ranks; ++rank) {
    std::vector<std::vector<Loaded>> of_kind(run.kinds.size());
    for (const Loaded& task : loads_of(run, rank, of_rank[rank])) {
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
  run.stolen.ns_per_byte = whole.time_ns / whole.bytes;
  for (const Loaded& task : loaded) {
    take_from(run.nodes[task.node], run.stolen.ns_per_byte * static_cast<double>(task.bytes));
  }
}

}  // namespace

void find_stolen_times(TaskRun& run, const std::vector<BackgroundTime>& measured) {
  if (run.workers != 1 || run.messages.empty()) {
    return;
  }
  if (measured.empty()) {
    take_estimated(run);
  } else {
    take_measured(run, measured);
  }
}

}  // namespace plait::replay::detail
