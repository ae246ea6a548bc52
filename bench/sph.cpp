// SPDX-License-Identifier: Apache-2.0
// Particle updates a second of smoothed particle hydrodynamics, and the cost of a step that updates few particles. The
// case is a periodic box of gas with a small hot ball, whose particles need steps a sixteenth as long as the others.
// The same gas with its own gravity, in open space, has its hot particles in the ball, or scattered over the box.
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "plait/particles.hpp"
#include "plait/plait.hpp"
#include "plait/testing/local_rank.hpp"

#include "sph/pair_sums.hpp"
#include "sph/parallel/simulation.hpp"
#include "support/report.hpp"
#include "support/stopwatch.hpp"

namespace {

using plait::particles::Particles;
using plait::particles::Vector;

constexpr std::uint32_t threads = 2;

constexpr double hot_share = 0.0095;

/// The particles that need short steps.
enum class Hot : std::uint8_t { ball, scattered };

struct Case {
  std::string name;
  Hot hot = Hot::ball;
  double gravity = 0;          ///< The constant; the space is open if it is not 0.
  double few_max_percent = 3;  ///< Of a full step, for a step that updates 1 %.
};

/// Adds `edge`^3 particles at about equal distances; `hot_share` of all are hot.
void fill(Particles& store, const sph::GasFields& fields, std::size_t edge, Hot hot) {
  std::mt19937_64 random{1};
  std::uniform_real_distribution<double> shake{-0.1, 0.1};
  std::uniform_real_distribution<double> chance{0, 1};
  const double distance = 1 / static_cast<double>(edge);
  const double radius = std::cbrt(hot_share * 3 / (4 * M_PI));
  const auto place = [&](std::size_t i) { return (static_cast<double>(i) + 0.5 + shake(random)) * distance; };
  const std::size_t count = edge * edge * edge;
  store.add(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Vector at{place(i % edge), place(i / edge % edge), place(i / edge / edge)};
    const Vector from = at - Vector{0.5, 0.5, 0.5};
    store.positions()[i] = at;
    store.ids()[i] = i;
    store[fields.mass][i] = 1 / static_cast<double>(count);
    store[fields.smoothing][i] = static_cast<float>(1.2 * distance);
    const bool is_hot = hot == Hot::ball ? length(from) < radius : chance(random) < hot_share;
    store[fields.energy][i] = is_hot ? 256 * 1.5F : 1.5F;
  }
}

struct Times {
  std::vector<double> full;       ///< Seconds of a step that updates all particles.
  std::vector<double> full_sums;  ///< Density sums of these, for each particle.
  std::vector<double> few;        ///< Of one that updates about 1 %,
  std::vector<double> few_share;  ///< and the share that it updates.
  std::vector<double> lists;      ///< Of a small step that first lists neighbours anew.
  double small_updates = 0;       ///< In all steps that update few particles, these included,
  double small_seconds = 0;       ///< and their time.
  std::uint32_t small_steps = 0;
  double updates = 0;
  double steps = 0;
};

Times measure(plait::test::LocalRank& workers, const Case& what, std::size_t edge, int full_steps) {
  Particles store;
  const sph::GasFields fields{store};
  fill(store, fields, edge, what.hot);
  sph::SimulationOptions options;
  const bool is_periodic = what.gravity == 0;
  options.space = {.root = {{0, 0, 0}, {1, 1, 1}}, .periodic = {is_periodic, is_periodic, is_periodic}};
  options.scheme.gravity.constant = what.gravity;
  options.scheme.gravity.softening = 1 / static_cast<double>(edge);
  options.end = 1;
  sph::Simulation simulation{workers.messages(), workers.scheduler(), store, fields, options};
  const auto count = static_cast<double>(store.size());
  Times times;
  while (static_cast<int>(times.full.size()) < full_steps && times.steps < 2000) {
    const bench::Stopwatch watch;
    const sph::StepReport report = simulation.step();
    const double seconds = watch.microseconds() * 1e-6;
    const double share = static_cast<double>(report.updated) / count;
    times.updates += static_cast<double>(report.updated);
    ++times.steps;
    if (share > 0.999 && !report.made_cells) {
      times.full.push_back(seconds);
      times.full_sums.push_back(static_cast<double>(report.density_sums) / count);
    }
    if (share < 0.03) {
      ++times.small_steps;
      times.small_updates += static_cast<double>(report.updated);
      times.small_seconds += seconds;
      if (report.made_cells) {
        times.lists.push_back(seconds);
      } else if (share > 0.008 && share < 0.0125) {
        times.few.push_back(seconds);
        times.few_share.push_back(share);
      }
    }
  }
  return times;
}

void add_rows(bench::Report& report, const Case& what, const Times& times, std::size_t edge) {
  const double count = static_cast<double>(edge * edge * edge);
  std::map<std::string, std::string> params{{"particles", fmt::format("{:.0f}", count)},
                                            {"threads", std::to_string(threads)},
                                            {"vectors", sph::vector_target()}};
  if (what.gravity != 0) {
    params["gravity"] = what.hot == Hot::ball ? "hot ball" : "scattered";
  }
  if (times.full.empty() || times.few.empty()) {
    report.note(fmt::format("{} full steps and {} small ones of {} in all: too few to compare",
                            times.full.size(),
                            times.few.size(),
                            times.steps));
    return;
  }
  std::vector<double> rates;
  for (const double seconds : times.full) {
    rates.push_back(count / seconds / threads);
  }
  report.add({"updates, in full steps", params, rates, "1/s/core"});
  const bench::Spread full = times.full;
  report.add({"full step", params, full, "s"});
  std::vector<double> ratios;
  for (const double seconds : times.few) {
    ratios.push_back(100 * seconds / full.median);
  }
  report.add({"small step, of a full one", params, ratios, "%", "", {}, "at most", what.few_max_percent});
  // This includes what is done periodically for several small steps.
  const double each = 100 * times.small_seconds / times.small_updates * 0.01 * count / full.median;
  report.add({"1 % in all small steps, of a full one", params, each, "%", "", {}, "at most", what.few_max_percent});
  report.note(fmt::format("a small step updates {:.2f} % of the particles; a density takes {:.2f} sums over neighbours",
                          100 * bench::median(times.few_share),
                          bench::median(times.full_sums)));
  report.note(fmt::format(
      "{:.0f} steps made {:.3g} updates, {:.1f} % of what equal steps would make; neighbours were listed anew before "
      "{} of {} small ones, which then take {:.3f} s",
      times.steps,
      times.updates,
      100 * times.updates / times.steps / count,
      times.lists.size(),
      times.small_steps,
      times.lists.empty() ? 0 : bench::median(times.lists)));
}

}  // namespace

int main(int argc, char** argv) {
  std::string only;
  std::size_t edge = 0;
  bench::Report report{"sph",
                       "Gas: particle updates a second, and steps in which few particles are updated cost little",
                       {},
                       argc,
                       argv,
                       [&](CLI::App& options) {
                         options.add_option("--case", only, "Only this one: gas, ball or scattered");
                         options.add_option("--edge", edge, "Particles along each axis (default: 46; full: 100)");
                       }};
  plait::net::LoopbackNetwork network{1};
  plait::test::LocalRank workers{network.driver(plait::Rank{0}), {.worker_count = threads}};
  edge = edge > 0 ? edge : report.is_full() ? 100 : 46;
  for (const Case& what : {Case{"gas"}, Case{"ball", Hot::ball, 0.5}, Case{"scattered", Hot::scattered, 0.5, 15}}) {
    if (only.empty() || only == what.name) {
      add_rows(report, what, measure(workers, what, edge, report.is_full() ? 5 : 4), edge);
    }
  }
  report.finish();
  return 0;
}
