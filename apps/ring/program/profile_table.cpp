// SPDX-License-Identifier: Apache-2.0
#include "ring/program/profile_table.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include <fmt/format.h>

namespace ring {

namespace {

struct Line {
  const char* name;
  std::function<double(const Profile&)> milliseconds;
};

}  // namespace

std::string profile_table(std::span<const Profile> profiles, std::uint32_t workers) {
  if (profiles.empty() || profiles.front().steps == 0) {
    return "no steps were made\n";
  }
  const auto steps = static_cast<double>(profiles.front().steps);
  const auto of_step = [steps](std::chrono::nanoseconds time) {
    return static_cast<double>(time.count()) * 1e-6 / steps;
  };
  const auto sum = [of_step, workers](std::vector<Phase> phases) {
    return [of_step, workers, phases = std::move(phases)](const Profile& profile) {
      double total = 0;
      for (const Phase phase : phases) {
        total += of_step(profile.phases[static_cast<std::size_t>(phase)]) / workers;
      }
      return total;
    };
  };
  using enum Phase;
  const auto named = sum({decompose, exchange, make_tree, make_lets, exchange_lets, walk, kernel});
  const auto wall = [of_step](const Profile& profile) { return of_step(profile.wall); };
  const std::vector<Line> lines{
      {"Domain decomposition", sum({decompose})},
      {"Exchange particles", sum({exchange})},
      {"Force calculation", sum({make_tree, make_lets, exchange_lets, walk, kernel})},
      {"  make tree", sum({make_tree})},
      {"  make LETs", sum({make_lets})},
      {"  exchange LETs, wait", sum({exchange_lets})},
      {"  tree walk", sum({walk})},
      {"  force kernel", sum({kernel})},
      {"Others", [&](const Profile& profile) { return wall(profile) - named(profile); }},
      {"Total", wall},
  };
  std::string table = fmt::format("{:<22} {:>12} {:>12}\n", "ms per step", "mean", "max over ranks");
  for (const Line& line : lines) {
    double mean = 0;
    double most = 0;
    for (const Profile& profile : profiles) {
      const double value = line.milliseconds(profile);
      mean += value / static_cast<double>(profiles.size());
      most = std::max(most, value);
    }
    table += fmt::format("{:<22} {:>12.3f} {:>12.3f}\n", line.name, mean, most);
  }
  double interactions = 0;
  double slowest = 0;
  double idle = 0;
  double worked = 0;
  for (const Profile& profile : profiles) {
    interactions += static_cast<double>(profile.interactions);
    slowest = std::max(slowest, std::chrono::duration<double>(profile.wall).count());
    idle += std::chrono::duration<double>(profile.idle).count();
    worked += std::chrono::duration<double>(profile.wall).count() * workers;
  }
  const double cores = static_cast<double>(profiles.size()) * workers;
  table += fmt::format(
      "{:.3e} interactions a step; {:.3e} a second, {:.3e} a second and core; workers idle {:.1f} % of the time\n",
      interactions / steps,
      interactions / slowest,
      interactions / slowest / cores,
      100 * idle / worked);
  return table;
}

}  // namespace ring
