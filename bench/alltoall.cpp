// SPDX-License-Identifier: Apache-2.0
// All-to-alls beside work: every variant of the exchange that plait::fft has, by MPI and by plait, in one run. The
// measure is that of the all-to-all harness of PSDNS: work that was calibrated against the blocking exchange.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <climits>
#include <cstdio>
#include <map>
#include <optional>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <mpi.h>

#include "plait/plait.hpp"

#include "alltoall/harness.hpp"
#include "support/raw_mpi.hpp"
#include "support/report.hpp"
#include "support/stopwatch.hpp"

namespace {

using alltoall::Measured;
using alltoall::Options;
using alltoall::SizeMeasured;
using alltoall::Turn;
using alltoall::WorkKind;

/// A longer poll would delay the next one, and the system preempts a thread that runs longer.
constexpr plait::nanoseconds poll_length_max = std::chrono::microseconds{50};

constexpr const char* introduction =
    "Compares ways to do an all-to-all while computing. Ranks form a grid; all-to-alls alternate between its rows and "
    "its columns. For each message size the work takes as long as the best blocking MPI_Alltoallv, and is the same for "
    "all variants, which alternate. Every element of every result is checked.";

constexpr const char* rows_help =
    "Rows: total = communication and work on the slowest rank, beside the blocking MPI_Alltoallv with the work after "
    "it, and max(communication, work); overlap = (T_B - T_N) / min(communication, work) against the variant's own twin "
    "that works after the communication, median and quartiles over pairs of turns: 1 = all was hidden, below 0 = it "
    "was slower; overlap of the best times = the same of the least times.";

std::string list_of_variants() {
  std::string text = "Variants:\n";
  for (const plait::fft::Variant& variant : alltoall::variants()) {
    text += fmt::format("  {:<5} {}\n", variant.name, variant.summary);
  }
  return text;
}

/// Nothing when the text is no grid.
std::optional<plait::comm::GroupGrid> grid_from(const std::string& text) {
  plait::comm::GroupGrid grid;
  char rest = 0;
  const bool is_good = std::sscanf(text.c_str(), "%ux%u%c", &grid.rows, &grid.columns, &rest) == 2;
  return is_good && grid.rows > 0 && grid.columns > 0 ? std::optional{grid} : std::nullopt;
}

std::string check_grid(const std::string& text) {
  return grid_from(text) ? "" : fmt::format("a grid is ROWSxCOLUMNS, for example 2x4, not {}", text);
}

std::string check_bytes(const std::string& text) {
  std::size_t bytes = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, bytes);
  const bool is_good = read.ec == std::errc{} && read.ptr == end && bytes > 0 && bytes % 8 == 0 && bytes <= INT_MAX;
  return is_good ? "" : fmt::format("a message has a multiple of 8 bytes, below 2 GiB, not {}", text);
}

std::string check_variant(const std::string& name) {
  const bool exists = std::ranges::count(alltoall::variants(), name, &plait::fft::Variant::name) > 0;
  return exists ? "" : fmt::format("there is no variant {}; --help lists them", name);
}

void add_options(CLI::App& app, Options& options) {
  app.description(introduction);
  app.footer(list_of_variants() + "\n" + rows_help);
  app.add_option_function<std::string>(
         "--grid",
         [&options](const std::string& text) { options.grid = grid_from(text); },
         "rows and columns, as 2x4 [as square as possible]")
      ->check(check_grid);
  app.add_option("--sizes", options.block_bytes, "bytes to each rank, several with commas [4096,65536,262144]")
      ->delimiter(',')
      ->check(check_bytes);
  app.add_option("--variants", options.variants, "only these, several with commas; a variant brings its twin, and MPI")
      ->delimiter(',')
      ->check(check_variant);
  app.add_option("--work", options.work, "sincos: no memory traffic; stream: through memory [sincos]")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, WorkKind>{{"sincos", WorkKind::sincos}, {"stream", WorkKind::stream}}));
  app.add_option("--work-fraction", options.work_fraction, "work over the blocking all-to-all's time [1]")
      ->check(CLI::Range(1e-6, 1e6));
  app.add_option("--tests", options.settings.test_count, "parts of the work between which variants advance [16]")
      ->check(CLI::PositiveNumber);
  app.add_option("--pieces", options.settings.piece_count_max, "pieces of a block of PLT, at most [4]")
      ->check(CLI::Range(1, 999));
  app.add_option_function<int>(
         "--look",
         [&options](int microseconds) { options.poll_period = std::chrono::microseconds{microseconds}; },
         "microseconds between polls of plait's timer while data moves [200]")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--iters", options.iterations, "iterations in a turn [5]")->check(CLI::PositiveNumber);
  app.add_option("--turns", options.turns, "turns in which the variants alternate [9; 31 with --full]")
      ->check(CLI::PositiveNumber);
  app.add_option("--seconds", options.seconds_max, "for one variant at one size, at most [1; 5 with --full]")
      ->check(CLI::PositiveNumber);
  app.add_flag("--barriers,!--no-barriers", options.has_barriers, "wait for all before each all-to-all [yes]");
}

bench::Report parse(int argc, char** argv, Options& options) {
  bench::Report report{"alltoall",
                       "aims at hiding an all-to-all behind work that makes no call; MPI's own variants beside it",
                       {.ranks = {2}, .network = bench::Network::lab},
                       argc,
                       argv,
                       [&](CLI::App& app) { add_options(app, options); }};
  const bool is_full = report.is_full();
  if (options.block_bytes.empty()) {
    options.block_bytes = {4096, 65536, 262144};
    if (is_full) {
      options.block_bytes = {1024, 4096, 16384, 65536, 262144, 1048576};
    }
  }
  options.turns = options.turns > 0 ? options.turns : is_full ? 31 : 9;
  options.seconds_max = options.seconds_max > 0 ? options.seconds_max : is_full ? 5 : 1;
  return report;
}

/// The sentence about disturbances by other processes. Above these limits, the figures are not to be trusted.
std::string sentence_of(std::size_t bytes, const alltoall::Disturbance& disturbance) {
  constexpr double waited_max = 0.02;
  constexpr double foreign_cpu_max = 0.1;
  const double foreign_cpu = disturbance.foreign_cpu.value_or(0);
  const bool is_too_much = disturbance.waited > waited_max || foreign_cpu > foreign_cpu_max;
  return fmt::format("{} bytes: ranks waited {:.1f} % of the time for a processor{}{}",
                     bytes,
                     100 * disturbance.waited,
                     disturbance.foreign_cpu ? fmt::format("; others used {:.0f} %", 100 * foreign_cpu) : "",
                     is_too_much ? ": TOO MUCH, do not trust these figures" : "");
}

bench::Spread total_of(const std::vector<Turn>& turns) {
  std::vector<double> totals;
  for (const Turn& turn : turns) {
    totals.push_back(1e6 * turn.total);
  }
  return totals;
}

/// What is wanted of the variants that overlap an exchange between hosts: of the part that is hidden, and of the whole
/// time over the longer of communication and work.
struct WantedOverlap {
  double hidden_min = 0;
  std::optional<double> total_over_longer_max = {};
};

std::optional<WantedOverlap> wanted_of(const bench::Report& report, std::string_view variant, std::size_t bytes) {
  constexpr std::size_t kibi = 1024;
  if (!report.network().starts_with("lab") || (variant != "PLN" && variant != "PLT" && variant != "MIT")) {
    return std::nullopt;
  }
  return bytes == 256 * kibi  ? std::optional{WantedOverlap{.hidden_min = 0.9, .total_over_longer_max = 1.1}}
         : bytes == 64 * kibi ? std::optional{WantedOverlap{.hidden_min = 0.8}}
                              : std::nullopt;
}

void add_rows(bench::Report& report, const SizeMeasured& measured, const Measured& one, alltoall::Direction direction) {
  const auto at = static_cast<std::size_t>(direction);
  const std::vector<Turn>& turns = one.turns[at];
  if (turns.empty()) {
    return;
  }
  const auto find = [&](std::string_view name) {
    const auto found = std::ranges::find(measured.variants, name, &Measured::name);
    return found == measured.variants.end() ? nullptr : &*found;
  };
  const Measured* const twin = one.twin.empty() ? nullptr : find(one.twin);
  const alltoall::Parts parts = parts_of(twin != nullptr ? twin->turns[at] : turns);
  const std::map<std::string, std::string> params{
      {"alg", one.name}, {"bytes", std::to_string(measured.block_bytes)}, {"group", to_string(direction)}};
  bench::Row total{.name = "total",
                   .params = params,
                   .value = total_of(turns),
                   .unit = "us",
                   .bound = "max(communication, work)",
                   .bound_value = 1e6 * std::max(parts.communication, parts.work)};
  if (const Measured* const blocking = find("MPI")) {
    total.peer = "MPI_Alltoall, then the work";
    total.peer_value = total_of(blocking->turns[at]).median;
  }
  const std::optional<WantedOverlap> wanted = wanted_of(report, one.name, measured.block_bytes);
  if (wanted && wanted->total_over_longer_max) {
    total.wanted = bench::at_most(*wanted->total_over_longer_max * *total.bound_value,
                                  fmt::format("{} x {}", *wanted->total_over_longer_max, total.bound));
  }
  report.add(total);
  if (twin != nullptr) {
    const double best = best_overlap(twin->best[at], one.best[at]);
    report.add({.name = "overlap",
                .params = params,
                .value = overlaps(twin->turns[at], turns),
                .unit = "1",
                .bound = "all is hidden",
                .bound_value = 1.0,
                .wanted = wanted ? std::optional{bench::at_least(wanted->hidden_min)} : std::nullopt});
    report.add({"overlap of the best times", params, best, "1", "", {}, "all is hidden", 1.0});
  }
}

void run(const Options& options, bench::Report& report) {
  plait::Options runtime_options = plait::Options::from_environment();
  runtime_options.worker_count = 1;  // every variant has one core a rank
  runtime_options.trace_folder.clear();
  runtime_options.progression.period_min = options.poll_period;
  runtime_options.progression.period_max = options.poll_period;  // handshakes wait for polls that move nothing else
  runtime_options.progression.burst_max = poll_length_max;
  plait::Runtime runtime{MPI_COMM_WORLD, runtime_options};
  alltoall::Harness harness{options, runtime};
  for (const std::string& sentence : harness.description()) {
    report.note(sentence);
  }
  for (const std::size_t bytes : options.block_bytes) {
    const SizeMeasured measured = harness.measure(bytes);
    for (const Measured& one : measured.variants) {
      for (const alltoall::Direction direction : alltoall::directions) {
        add_rows(report, measured, one, direction);
      }
    }
    report.note(sentence_of(bytes, measured.disturbance));
  }
  for (const std::string& sentence : harness.left_out()) {
    report.note(sentence);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Report report = parse(argc, argv, options);
  bench::choose_window_components();
  plait::MpiSession session{argc, argv};
  try {
    run(options, report);
  } catch (const std::exception& error) {
    session.fail("bench_alltoall", error);
  }
  report.finish();
}
