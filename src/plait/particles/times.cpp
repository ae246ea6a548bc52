// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/times.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace plait::particles {

namespace {

struct Line {
  const char* name;
  std::function<double(const StepTimes&)> milliseconds;
};

std::vector<Line> lines_of(double steps, double workers, bool has_mesh) {
  const auto of_step = [steps](nanoseconds time) { return static_cast<double>(time.count()) * 1e-6 / steps; };
  const auto sum = [=](Phase first, Phase last, bool with_idle = false) {
    return [=](const StepTimes& times) {
      const auto begin = times.phases.begin();
      return of_step(std::accumulate(begin + static_cast<int>(first),
                                     begin + static_cast<int>(last) + 1,
                                     with_idle ? times.idle : nanoseconds{})) /
             workers;
    };
  };
  using enum Phase;
  const auto wall = [=](const StepTimes& times) { return of_step(times.wall); };
  const auto named = sum(decompose, mesh, true);
  std::vector<Line> lines{
      {"Domain decomposition", sum(decompose, decompose)},
      {"Exchange particles", sum(exchange, exchange)},
      {"Force calculation", sum(make_tree, mesh, true)},
      {"  make tree", sum(make_tree, make_tree)},
      {"  make LETs", sum(make_lets, make_lets)},
      {"  exchange LETs, wait", sum(exchange_lets, exchange_lets, true)},
      {"  tree walk", sum(walk, walk)},
      {"  force kernel", sum(kernel, kernel)},
      {"  short range", sum(short_range, short_range)},
  };
  if (has_mesh) {
    lines.push_back({"  mesh", sum(mesh, mesh)});
  }
  lines.push_back({"Others", [=](const StepTimes& times) { return wall(times) - named(times); }});
  lines.push_back({"Total", wall});
  return lines;
}

}  // namespace

void move_times(PhaseTimes& from, PhaseTimes& to) {
  for (std::size_t phase = 0; phase < phase_count; ++phase) {
    to[phase] += std::exchange(from[phase], {});
  }
}

std::string times_table(std::span<const StepTimes> ranks, std::uint32_t workers) {
  if (ranks.empty() || ranks.front().steps == 0) {
    return "no steps were made\n";
  }
  const auto steps = static_cast<double>(ranks.front().steps);
  std::string table = fmt::format("{:<22} {:>12} {:>12}\n", "ms per step", "mean", "max over ranks");
  const bool has_mesh =
      std::ranges::any_of(ranks, [](const StepTimes& times) { return times[Phase::mesh].count() > 0; });
  for (const Line& line : lines_of(steps, workers, has_mesh)) {
    double mean = 0;
    double most = 0;
    for (const StepTimes& times : ranks) {
      const double value = line.milliseconds(times);
      mean += value / static_cast<double>(ranks.size());
      most = std::max(most, value);
    }
    table += fmt::format("{:<22} {:>12.3f} {:>12.3f}\n", line.name, mean, most);
  }
  const auto seconds = [](nanoseconds time) { return std::chrono::duration<double>(time).count(); };
  double interactions = 0;
  double slowest = 0;
  double idle = 0;
  double worked = 0;
  for (const StepTimes& times : ranks) {
    interactions += static_cast<double>(times.interactions);
    slowest = std::max(slowest, seconds(times.wall));
    idle += seconds(times.idle);
    worked += seconds(times.wall) * workers;
  }
  const double cores = static_cast<double>(ranks.size()) * workers;
  table += fmt::format(
      "{:.3e} interactions a step; {:.3e} a second, {:.3e} a second and core; workers idle {:.1f} % of the time\n",
      interactions / steps,
      interactions / slowest,
      interactions / slowest / cores,
      100 * idle / worked);
  return table;
}

}  // namespace plait::particles
