// SPDX-License-Identifier: Apache-2.0
// Transforms of cubes of real numbers there and back, one variable and several in flight: by plait's tasks and by other
// ways of exchanging, beside FFTW's MPI library, alternating in one run, and mpi4py-fft in a run of its own right
// after.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>

#include "plait/plait.hpp"

#include "fft/fftw_mpi.hpp"
#include "fft/measure.hpp"
#include "support/report.hpp"

namespace {

using bench::Spread;
using bench_fft::Case;
using bench_fft::Measured;

struct Options {
  std::vector<plait::fft::Index> lengths;
  std::vector<std::size_t> variables;
  std::string grid;
  Case common;
  bool has_python = true;
  std::vector<std::string> report_arguments;
};

/// Ends the program where the command line is wrong or wants help.
Options parse(int argc, char** argv) {
  Options options{.report_arguments = {argv[0]}};
  bool is_full = false;
  bool describes = false;
  std::string json;
  CLI::App app{
      "Transforms cubes of real numbers there and back. Columns: seconds of all variables on the slowest rank, "
      "median and quartiles over the rounds; x FFTW: over FFTW-MPI with transposed output; x max: over the "
      "longer of computing and communication, each alone; overlap: (T_PLB - T) / min(computing, communication)."};
  app.add_option("--sizes", options.lengths, "points along an edge, several with commas [128; 128,256 with --full]")
      ->delimiter(',');
  app.add_option("--variables", options.variables, "in flight at once [1,3; 1,3,6 with --full]")->delimiter(',');
  app.add_option("--variants", options.common.variants, "ways of exchanging, or automatic [PLT,PLB,MPI,MIT]")
      ->delimiter(',');
  app.add_option("--grid", options.grid, "ranks in a row and in a column, as 2x1 [chosen]");
  app.add_option("--pieces", options.common.pieces, "messages that a block of PLT is cut into [chosen]");
  app.add_option("--rounds", options.common.rounds, "in which all alternate [9; 31 with --full]");
  app.add_option("--seconds", options.common.seconds_max, "for all rounds of a case, at most [8; 60 with --full]");
  app.add_flag("!--no-python", options.has_python, "without mpi4py-fft");
  app.add_flag("--full", is_full, "more sizes and rounds");
  app.add_option("--json", json, "also write the results to this file");
  app.add_flag("--describe", describes, "tell what this benchmark shows, as JSON, and end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  if (options.lengths.empty()) {
    options.lengths = is_full ? std::vector<plait::fft::Index>{128, 256} : std::vector<plait::fft::Index>{128};
  }
  if (options.variables.empty()) {
    options.variables = is_full ? std::vector<std::size_t>{1, 3, 6} : std::vector<std::size_t>{1, 3};
  }
  if (is_full) {
    options.common.rounds = std::max<std::size_t>(options.common.rounds, 31);
    options.common.seconds_max = std::max(options.common.seconds_max, 60.0);
    options.report_arguments.emplace_back("--full");
  }
  if (!options.grid.empty() &&
      std::sscanf(options.grid.c_str(), "%ux%u", &options.common.grid.row, &options.common.grid.column) != 2) {
    fmt::print(stderr, "bench_fft: a grid is ROWxCOLUMN, for example 2x1, not {}\n", options.grid);
    std::exit(2);
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
  return {"fft",
          "transforms with several variables in flight hide exchanges that FFTW-MPI waits for",
          2U,
          static_cast<int>(arguments.size()),
          arguments.data()};
}

/// What the figures of a case are compared with.
struct Yardsticks {
  double computing = 0;
  double communication = 0;
  double blocking = 0;  ///< PLB's; 0 where it did not run.
  double fftw = 0;      ///< Transposed; 0 where it is not there.
};

double median_of(const Measured& measured, const std::string& subject) {
  const auto found = measured.seconds.find(subject);
  return found == measured.seconds.end() ? 0 : bench::spread_of(found->second).median;
}

Yardsticks yardsticks_of(const Measured& measured) {
  return {.computing = median_of(measured, "computing"),
          .communication = std::min(median_of(measured, "exchanges by plait"), median_of(measured, "exchanges by MPI")),
          .blocking = median_of(measured, "PLB"),
          .fftw = median_of(measured, "FFTW-MPI transposed")};
}

void print_and_add(bench::Report& report, const Case& one, const Measured& measured) {
  const Yardsticks than = yardsticks_of(measured);
  const double longest = std::max(than.computing, than.communication);
  const double hideable = std::min(than.computing, than.communication);
  fmt::print("{}^3, {} variable{}, there and back\n{:<22} {:>10} {:>10} {:>21} {:>7} {:>7} {:>8}\n",
             one.length,
             one.variables,
             one.variables == 1 ? "" : "s",
             "",
             "best ms",
             "median",
             "quartiles",
             "x FFTW",
             "x max",
             "overlap");
  for (const auto& [name, seconds] : measured.seconds) {
    const Spread spread = bench::spread_of(seconds);
    const bool is_variant = std::ranges::find(one.variants, name) != one.variants.end();
    const bool overlaps = is_variant && name != "PLB" && than.blocking > 0 && hideable > 0;
    fmt::print("{:<22} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.3f} {:>7} {:>7} {:>8}\n",
               name,
               1e3 * *std::ranges::min_element(seconds),
               1e3 * spread.median,
               1e3 * spread.low,
               1e3 * spread.high,
               than.fftw > 0 ? fmt::format("{:.2f}", spread.median / than.fftw) : "-",
               is_variant ? fmt::format("{:.2f}", spread.median / longest) : "-",
               overlaps ? fmt::format("{:.2f}", (than.blocking - spread.median) / hideable) : "-");
    report.add({.name = name,
                .params = {{"size", std::to_string(one.length)}, {"variables", std::to_string(one.variables)}},
                .value = {1e3 * spread.median, 1e3 * spread.low, 1e3 * spread.high},
                .unit = "ms",
                .peer = than.fftw > 0 ? "FFTW-MPI " + bench_fft::FftwMpi::version() + ", transposed" : "",
                .peer_value = than.fftw > 0 ? std::optional{1e3 * than.fftw} : std::nullopt,
                .bound = "max(computing, communication)",
                .bound_value = 1e3 * longest,
                .best = 1e3 * *std::ranges::min_element(seconds)});
  }
  for (const std::string& sentence : measured.left_out) {
    fmt::print("{}\n", sentence);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

/// Takes away what tells a process that it belongs to a job, so that the launcher starts a new one.
std::string without_job() {
  std::string text = "env";
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view name = std::string_view{*one}.substr(0, std::string_view{*one}.find('='));
    const bool is_of_job = name.starts_with("OMPI_") || name.starts_with("PMIX_") || name.starts_with("PRTE_");
    if (is_of_job && !name.starts_with("OMPI_ALLOW_RUN_AS_ROOT")) {
      text += fmt::format(" -u {}", name);
    }
  }
  return text;
}

/// When MPI has ended here: its times, or why there are none.
void run_python(bench::Report& report, const Case& one, std::size_t ranks) {
  const std::string command = fmt::format(
      "{} timeout 120 mpiexec -n {} --oversubscribe --bind-to none /usr/bin/python3 {}/mpi4py_fft_peer.py {} {} {} "
      "2>&1",
      without_job(),
      ranks,
      BENCH_FFT_FOLDER,
      one.length,
      one.variables,
      one.rounds);
  FILE* const pipe = popen(command.c_str(), "r");
  std::vector<double> seconds;
  std::string complaint = "it printed nothing";
  char line[512];
  while (pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr) {
    std::istringstream text{line};
    std::string word;
    double time = 0;
    if (text >> word >> time && word == "round") {
      seconds.push_back(time);
    } else if (text.str().find("Error") != std::string::npos) {
      complaint = text.str().substr(0, text.str().find('\n'));
    }
  }
  if (pipe == nullptr || pclose(pipe) != 0 || seconds.empty()) {
    fmt::print("mpi4py-fft is left out (Debian: python3-mpi4py-fft): {}\n", complaint);
    return;
  }
  const Spread spread = bench::spread_of(seconds);
  fmt::print("{}^3, {} variable{}: mpi4py-fft, right afterwards {:>10.3f} ms ({:.3f} - {:.3f})\n",
             one.length,
             one.variables,
             one.variables == 1 ? "" : "s",
             1e3 * spread.median,
             1e3 * spread.low,
             1e3 * spread.high);
  report.add({.name = "mpi4py-fft",
              .params = {{"size", std::to_string(one.length)}, {"variables", std::to_string(one.variables)}},
              .value = {1e3 * spread.median, 1e3 * spread.low, 1e3 * spread.high},
              .unit = "ms",
              .peer = {},
              .peer_value = {},
              .bound = {},
              .bound_value = {}});
}

std::vector<Case> cases_of(const Options& options) {
  std::vector<Case> cases;
  for (const plait::fft::Index length : options.lengths) {
    for (const std::size_t variables : options.variables) {
      cases.push_back(options.common);
      cases.back().length = length;
      cases.back().variables = variables;
    }
  }
  return cases;
}

/// Returns how many ranks there are; 0 on all but the first.
std::size_t run(bench::Report& report, const std::vector<Case>& cases) {
  plait::Options runtime_options = plait::Options::from_environment();
  runtime_options.worker_count = 1;  // every subject has one core a rank
  runtime_options.trace_folder.clear();
  plait::Runtime runtime{MPI_COMM_WORLD, runtime_options};
  for (const Case& one : cases) {
    const Measured measured = bench_fft::measure(runtime, one);
    if (runtime.self() == plait::Rank{0}) {
      fmt::print("{}", measured.plan);
      print_and_add(report, one, measured);
    }
  }
  return runtime.self() == plait::Rank{0} ? runtime.rank_count() : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options = parse(argc, argv);
  bench::Report report = make_report(options);  // ends the program for --describe
  const std::vector<Case> cases = cases_of(options);
  std::size_t ranks = 0;
  {
    plait::MpiSession session{argc, argv};
    try {
      ranks = run(report, cases);
    } catch (const std::exception& error) {
      session.fail("bench_fft", error);
    }
  }
  if (ranks == 0) {
    return 0;
  }
  for (const Case& one : cases) {
    if (options.has_python) {
      run_python(report, one, ranks);
    }
  }
  if (std::ranges::find(options.report_arguments, "--json") != options.report_arguments.end()) {
    report.finish();  // the tables are printed already
  }
}
