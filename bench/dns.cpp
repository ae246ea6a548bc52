// SPDX-License-Identifier: Apache-2.0
// Steps of plait-dns: Taylor and Green's vortices, second order, by several ways of exchanging that take turns in one
// run. With PLT a stage is one graph of tasks; with others, transforms and products follow one another. Beside them the
// same steps with exchanges that move nothing: what computing alone takes.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <mpi.h>

#include "plait/fft/mpi/variants.hpp"
#include "plait/fft/plan.hpp"
#include "plait/plait.hpp"

#include "dns/initial_field.hpp"
#include "dns/solver.hpp"
#include "fft/moves_nothing.hpp"
#include "support/report.hpp"
#include "support/stopwatch.hpp"

namespace {

struct Options {
  plait::fft::Index length = 64;
  std::size_t rounds = 7;
  std::vector<std::string> variants{"PLT", "PLB", "MPI", "MIN", "MIT"};
  std::vector<std::string> report_arguments;
};

/// Ends the program where the command line is wrong or wants help.
Options parse(int argc, char** argv) {
  Options options{.report_arguments = {argv[0]}};
  bool is_full = false;
  bool describes = false;
  std::string json;
  CLI::App app{
      "Seconds a step of plait-dns by way of exchanging. Columns: median and quartiles over the rounds, of the "
      "slowest rank; exchanging: the part of a step that is not computing; overlap: (T_PLB - T) / "
      "min(computing, T_PLB - computing)."};
  app.add_option("--size", options.length, "points along an edge [64; 128 with --full]");
  app.add_option("--rounds", options.rounds, "steps of each, in turns [7; 21 with --full]");
  app.add_option("--variants", options.variants, "ways of exchanging [PLT,PLB,MPI,MIN,MIT]")->delimiter(',');
  app.add_flag("--full", is_full, "a larger grid, more rounds");
  app.add_option("--json", json, "also write the results to this file");
  app.add_flag("--describe", describes, "tell what this benchmark shows, as JSON, and end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  if (is_full) {
    options.length = std::max<plait::fft::Index>(options.length, 128);
    options.rounds = std::max<std::size_t>(options.rounds, 21);
    options.report_arguments.emplace_back("--full");
  }
  if (!json.empty()) {
    options.report_arguments.insert(options.report_arguments.end(), {"--json", json});
  }
  if (describes) {
    options.report_arguments.emplace_back("--describe");
  }
  return options;
}

bench::Report make_report(Options& options) {
  std::vector<char*> arguments;
  for (std::string& argument : options.report_arguments) {
    arguments.push_back(argument.data());
  }
  return {"dns",
          "steps of plait-dns as tasks hide exchanges that other ways wait for",
          2U,
          static_cast<int>(arguments.size()),
          arguments.data()};
}

/// A solver with its plan.
struct Way {
  std::string name;
  std::unique_ptr<plait::fft::Plan> plan;
  std::unique_ptr<dns::Solver> solver;
  std::vector<double> seconds;
};

constexpr const char* nothing_moves = "computing";

class Contest {
 public:
  Contest(plait::Runtime& runtime, const Options& options) : runtime_{runtime}, options_{options} {
    plan_options_.more = plait::fft::mpi::variants(MPI_COMM_WORLD);
    plan_options_.more.push_back(
        {nothing_moves, "", "nothing moves", [](const plait::comm::Group&, const plait::fft::BlockBytes& bytes) {
           return std::make_unique<bench_fft::MovesNothing>(bytes);
         }});
    for (const std::string& name : options.variants) {
      add(name);
    }
    add(nothing_moves);
  }

  void run() {
    for (std::size_t round = 0; round < options_.rounds + 1; ++round) {
      for (Way& way : ways_) {
        const double seconds = step(way);
        if (round > 0) {  // the first makes graphs and connections
          way.seconds.push_back(seconds);
        }
      }
    }
    check();
  }
  [[nodiscard]] const std::vector<Way>& ways() const { return ways_; }
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  void add(const std::string& name) {
    plan_options_.variant = name;
    Way way{.name = name};
    try {
      way.plan = std::make_unique<plait::fft::Plan>(runtime_.messages(),
                                                    runtime_.scheduler(),
                                                    std::array{options_.length, options_.length, options_.length},
                                                    plan_options_);
      way.solver = std::make_unique<dns::Solver>(
          runtime_, *way.plan, dns::Physics{.viscosity = 1.0 / 1600}, dns::Scheme{.integrator = dns::Integrator::rk2});
    } catch (const plait::Error& error) {
      if (error.code() != plait::ErrorCode::network) {
        throw;
      }
      left_out_.push_back(fmt::format("{} is left out: {}", name, error.what()));
      return;
    }
    dns::set_taylor_green(way.plan->spectral(), way.solver->fields());
    ways_.push_back(std::move(way));
  }

  double step(Way& way) {
    wait_for_all();
    const bench::Stopwatch watch;
    way.solver->step(1e-3);
    double seconds = watch.seconds();
    runtime_.messages().flush();
    const auto held = runtime_.messages().hold();
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
  }

  void wait_for_all() {
    runtime_.messages().flush();
    const auto held = runtime_.messages().hold();
    MPI_Barrier(MPI_COMM_WORLD);
  }

  /// All ways have gone the same steps.
  void check() {
    double first = 0;
    for (Way& way : ways_) {
      if (way.name == nothing_moves) {
        continue;
      }
      const double enstrophy = way.solver->diagnose(dns::Detail::modes).enstrophy;
      first = first == 0 ? enstrophy : first;
      if (!(std::abs(enstrophy - first) < 1e-12 * first)) {
        throw plait::Error{
            plait::ErrorCode::user_task,
            fmt::format("{} came to the enstrophy {}, {} to {}", way.name, enstrophy, ways_.front().name, first)};
      }
    }
  }

  plait::Runtime& runtime_;
  const Options& options_;
  plait::fft::PlanOptions plan_options_;
  std::vector<Way> ways_;
  std::vector<std::string> left_out_;
};

double median_of(const std::vector<Way>& ways, const std::string& name) {
  const auto found = std::ranges::find(ways, name, &Way::name);
  return found == ways.end() ? 0 : bench::spread_of(found->seconds).median;
}

void print_and_add(bench::Report& report, const Options& options, const Contest& contest) {
  const double computing = median_of(contest.ways(), nothing_moves);
  const double blocking = median_of(contest.ways(), "PLB");
  const double hideable = std::min(computing, blocking - computing);
  fmt::print("{}^3, second order, {} transforms a step\n{:<12} {:>12} {:>25} {:>11} {:>8}\n",
             options.length,
             dns::transforms_per_step({.integrator = dns::Integrator::rk2}, 0),
             "",
             "ms a step",
             "quartiles",
             "exchanging",
             "overlap");
  for (const Way& way : contest.ways()) {
    const bench::Spread spread = bench::spread_of(way.seconds);
    const bool overlaps = way.name != nothing_moves && way.name != "PLB" && blocking > 0 && hideable > 0;
    fmt::print("{:<12} {:>12.3f} {:>12.3f} {:>12.3f} {:>11} {:>8}\n",
               way.name,
               1e3 * spread.median,
               1e3 * spread.low,
               1e3 * spread.high,
               way.name == nothing_moves ? "-" : fmt::format("{:.2f}", 1 - computing / spread.median),
               overlaps ? fmt::format("{:.2f}", (blocking - spread.median) / hideable) : "-");
    report.add({.name = way.name,
                .params = {{"size", std::to_string(options.length)}},
                .value = {1e3 * spread.median, 1e3 * spread.low, 1e3 * spread.high},
                .unit = "ms",
                .peer = {},
                .peer_value = {},
                .bound = "computing",
                .bound_value = 1e3 * computing,
                .best = 1e3 * *std::ranges::min_element(way.seconds)});
  }
  for (const std::string& sentence : contest.left_out()) {
    fmt::print("{}\n", sentence);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options = parse(argc, argv);
  bench::Report report = make_report(options);  // ends the program for --describe
  plait::MpiSession session{argc, argv};
  try {
    plait::Options runtime_options = plait::Options::from_environment();
    runtime_options.worker_count = 1;  // every way has one core a rank
    runtime_options.trace_folder.clear();
    plait::Runtime runtime{MPI_COMM_WORLD, runtime_options};
    Contest contest{runtime, options};
    contest.run();
    if (runtime.self() == plait::Rank{0}) {
      print_and_add(report, options, contest);
      if (std::ranges::find(options.report_arguments, "--json") != options.report_arguments.end()) {
        report.finish();  // the table is printed already
      }
    }
  } catch (const std::exception& error) {
    session.fail("bench_dns", error);
  }
}
