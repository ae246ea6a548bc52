// SPDX-License-Identifier: Apache-2.0
// Transforms of cubes of real numbers there and back, one variable and several in flight: by plait's tasks and by other
// ways of exchanging, beside FFTW's MPI library, alternating in one run, and mpi4py-fft in a run of its own right
// after.
#include "plait/fft.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>

#include "plait/plait.hpp"

#include "fft/measure.hpp"
#include "support/command.hpp"
#include "support/report.hpp"
#include "support/stopwatch.hpp"

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
};

/// Ends the program for a wrong command line, for help, and for `--describe`.
bench::Report parse(int argc, char** argv, Options& options) {
  bench::Report report{
      "fft",
      "transforms with several variables in flight hide exchanges that FFTW-MPI waits for",
      {.ranks = {2}},
      argc,
      argv,
      [&options](CLI::App& app) {
        app.description(
            "Transforms cubes of real numbers there and back. Columns: seconds of all variables on the slowest rank, "
            "median and quartiles over the rounds; x FFTW: over FFTW-MPI with transposed output; x max: over the "
            "longer of computing and communication, each alone; overlap: (T_PLB - T) / min(computing, communication).");
        app.add_option("--sizes", options.lengths, "points along an edge, with commas [128; 128,256 with --full]")
            ->delimiter(',');
        app.add_option("--variables", options.variables, "in flight at once [1,3; 1,3,6 with --full]")->delimiter(',');
        app.add_option("--variants", options.common.variants, "ways of exchanging, or automatic [PLT,PLB,MPI,MIT]")
            ->delimiter(',');
        app.add_option("--grid", options.grid, "ranks in a row and in a column, as 2x1 [chosen]");
        app.add_option("--pieces", options.common.pieces, "messages that a block of PLT is divided into [chosen]");
        app.add_option("--rounds", options.common.rounds, "in which all alternate [9; 31 with --full]");
        app.add_option("--seconds", options.common.seconds_max, "for all rounds of a case [8; 60 with --full]");
        app.add_flag("!--no-python", options.has_python, "without mpi4py-fft");
      }};
  const bool is_full = report.is_full();
  if (options.lengths.empty()) {
    options.lengths = is_full ? std::vector<plait::fft::Index>{128, 256} : std::vector<plait::fft::Index>{128};
  }
  if (options.variables.empty()) {
    options.variables = is_full ? std::vector<std::size_t>{1, 3, 6} : std::vector<std::size_t>{1, 3};
  }
  if (is_full) {
    options.common.rounds = std::max<std::size_t>(options.common.rounds, 31);
    options.common.seconds_max = std::max(options.common.seconds_max, 60.0);
  }
  if (!options.grid.empty() &&
      std::sscanf(options.grid.c_str(), "%ux%u", &options.common.grid.row, &options.common.grid.column) != 2) {
    fmt::print(stderr, "bench_fft: a grid is ROWxCOLUMN, for example 2x1, not {}\n", options.grid);
    std::exit(2);
  }
  return report;
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
  return found == measured.seconds.end() ? 0 : bench::median(found->second);
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
    const Spread spread = seconds;
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
                .value = 1e3 * spread,
                .unit = "ms",
                .peer = than.fftw > 0 ? "FFTW-MPI " + measured.fftw_version + ", transposed" : "",
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

/// Removes the variables by which a process belongs to a job, so that the launcher starts a new one.
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
  const bench::CommandOutput output = bench::output_of(fmt::format(
      "{} timeout 120 mpiexec -n {} --oversubscribe --bind-to none /usr/bin/python3 {}/mpi4py_fft_peer.py {} {} {}",
      without_job(),
      ranks,
      BENCH_FFT_FOLDER,
      one.length,
      one.variables,
      one.rounds));
  const std::vector<double> seconds = bench::numbers_after("round", output.text);
  if (!output.is_good || seconds.empty()) {
    const std::size_t error = output.text.find("Error");
    const std::size_t line = error == std::string::npos ? 0 : output.text.rfind('\n', error) + 1;
    fmt::print("mpi4py-fft is left out (Debian: python3-mpi4py-fft): {}\n",
               output.text.substr(line, output.text.find('\n', line) - line));
    return;
  }
  const Spread spread = seconds;
  fmt::print("{}^3, {} variable{}: mpi4py-fft, right afterwards {:>10.3f} ms ({:.3f} - {:.3f})\n",
             one.length,
             one.variables,
             one.variables == 1 ? "" : "s",
             1e3 * spread.median,
             1e3 * spread.low,
             1e3 * spread.high);
  report.add({.name = "mpi4py-fft",
              .params = {{"size", std::to_string(one.length)}, {"variables", std::to_string(one.variables)}},
              .value = 1e3 * spread,
              .unit = "ms"});
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
  Options options;
  bench::Report report = parse(argc, argv, options);
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
  report.write_file();  // the tables are printed already
}
