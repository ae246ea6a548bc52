// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/times.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace plait::particles {

namespace {

struct Line {
  const char* name;
  std::function<double(const StepTimes&)> milliseconds;
};

std::vector<Line> lines_of(double steps, double workers) {
  const auto of_step = [steps](nanoseconds time) { return static_cast<double>(time.count()) * 1e-6 / steps; };
  const auto sum = [=](std::vector<Phase> phases) {
    return [=, phases = std::move(phases)](const StepTimes& times) {
      double total = 0;
      for (const Phase phase : phases) {
        total += of_step(times[phase]) / workers;
      }
      return total;
    };
  };
  using enum Phase;
  const auto idle = [=](const StepTimes& times) { return of_step(times.idle) / workers; };
  const auto wall = [=](const StepTimes& times) { return of_step(times.wall); };
  const auto force = sum({make_tree, make_lets, exchange_lets, walk, kernel, short_range});
  const auto named = sum({decompose, exchange, make_tree, make_lets, exchange_lets, walk, kernel, short_range});
  const auto waiting = sum({exchange_lets});
  return {
      {"Domain decomposition", sum({decompose})},
      {"Exchange particles", sum({exchange})},
      {"Force calculation", [=](const StepTimes& times) { return force(times) + idle(times); }},
      {"  make tree", sum({make_tree})},
      {"  make LETs", sum({make_lets})},
      {"  exchange LETs, wait", [=](const StepTimes& times) { return waiting(times) + idle(times); }},
      {"  tree walk", sum({walk})},
      {"  force kernel", sum({kernel})},
      {"  short range", sum({short_range})},
      {"Others", [=](const StepTimes& times) { return wall(times) - named(times) - idle(times); }},
      {"Total", wall},
  };
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
  for (const Line& line : lines_of(steps, workers)) {
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
