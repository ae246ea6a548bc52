// SPDX-License-Identifier: Apache-2.0
// Transforms of cubes of real numbers there and back, with one variable and several in flight: by plait's tasks and by
// other ways of exchanging, beside FFTW's MPI library. They alternate in one run; mpi4py-fft runs directly afterwards.
#include "plait/fft.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
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

/// Exits for a wrong command line, for help, and for `--describe`.
bench::Report parse(int argc, char** argv, Options& options) {
  bench::Report report{
      "fft",
      "transforms with several variables in flight hide exchanges that FFTW-MPI waits for",
      {.ranks = {2}},
      argc,
      argv,
      [&options](CLI::App& app) {
        app.description(
            "Transforms cubes of real numbers there and back. Rows: milliseconds of all variables on the slowest rank, "
            "beside FFTW-MPI with transposed output, and the longer of computing and communication, each alone; "
            "overlap: (T_PLB - T) / min(computing, communication).");
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

double median_of(const Measured& measured, const std::string& subject) {
  const auto found = measured.seconds.find(subject);
  return found == measured.seconds.end() ? 0 : bench::median(found->second);
}

std::map<std::string, std::string> params_of(const Case& one) {
  return {{"size", std::to_string(one.length)}, {"variables", std::to_string(one.variables)}};
}

void add_rows(bench::Report& report, const Case& one, const Measured& measured) {
  const double computing = median_of(measured, "computing");
  const double communication =
      std::min(median_of(measured, "exchanges by plait"), median_of(measured, "exchanges by MPI"));
  const double hideable = std::min(computing, communication);
  const double blocking = median_of(measured, "PLB");
  const double fftw = median_of(measured, "FFTW-MPI transposed");
  for (const auto& [name, seconds] : measured.seconds) {
    report.add({.name = name,
                .params = params_of(one),
                .value = 1e3 * Spread{seconds},
                .unit = "ms",
                .peer = fftw > 0 ? "FFTW-MPI " + measured.fftw_version + ", transposed" : "",
                .peer_value = fftw > 0 ? std::optional{1e3 * fftw} : std::nullopt,
                .bound = "max(computing, communication)",
                .bound_value = 1e3 * std::max(computing, communication),
                .best = 1e3 * std::ranges::min(seconds)});
    const bool is_variant = std::ranges::find(one.variants, name) != one.variants.end();
    if (is_variant && name != "PLB" && blocking > 0 && hideable > 0) {
      const double overlap = (blocking - bench::median(seconds)) / hideable;
      report.add({name + ": overlap", params_of(one), overlap, "1", "", {}, "all is hidden", 1.0});
    }
  }
  for (const std::string& sentence : measured.left_out) {
    report.note(sentence);
  }
}

/// Returns a command that removes the environment variables of this MPI job, so that the launcher starts a new one.
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

/// Adds the times of mpi4py-fft, or the reason why there are none. MPI must have ended in this process.
void add_python(bench::Report& report, const Case& one, std::size_t ranks) {
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
    report.note(fmt::format("mpi4py-fft is left out (Debian: python3-mpi4py-fft): {}",
                            output.text.substr(line, output.text.find('\n', line) - line)));
    return;
  }
  report.add({.name = "mpi4py-fft, in a run of its own",
              .params = params_of(one),
              .value = 1e3 * Spread{seconds},
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
    report.note(measured.plan);
    add_rows(report, one, measured);
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
      add_python(report, one, ranks);
    }
  }
  report.finish();
}
