// SPDX-License-Identifier: Apache-2.0
#include "alltoall/options.hpp"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdio>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace alltoall {

namespace {

constexpr const char* introduction =
    "Compares ways to do an all-to-all while computing. Ranks form a grid; all-to-alls alternate between its rows and "
    "its columns. For each message size the work takes as long as the best blocking MPI_Alltoallv, and is the same for "
    "all variants, which alternate. Every element of every result is checked.";

constexpr const char* columns =
    "Columns: iters = iterations kept; t_total = seconds for communication and work, t_comp = of these in the work, "
    "both on the slowest rank, medians; overlap = (T_B - T_N) / min(communication, work) against the variant's own "
    "twin that works after the communication, median and quartiles over pairs of turns: 1 = all was hidden, below 0 = "
    "it was slower; best = the same of the least times; x max = t_total over max(communication, work), where 1 is the "
    "optimum; x MPI = t_total over that of the blocking MPI.";

std::string list_of_variants() {
  std::string text = "Variants:\n";
  for (const plait::fft::Variant& variant : variants()) {
    text += fmt::format("  {:<5} {}\n", variant.name, variant.summary);
  }
  return text;
}

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
  const bool exists = std::ranges::count(variants(), name, &plait::fft::Variant::name) > 0;
  return exists ? "" : fmt::format("there is no variant {}; --help lists them", name);
}

void add_options(CLI::App& app, Options& options, std::string& grid) {
  app.add_option("--grid", grid, "rows and columns, as 2x4 [as square as possible]")->check(check_grid);
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

}  // namespace

bench::Report parse(int argc, char** argv, Options& options) {
  std::string grid;
  bench::Report report{"alltoall",
                       "aims at hiding an all-to-all behind work that makes no call; MPI's own variants beside it",
                       {.ranks = {2}, .network = bench::Network::lab},
                       argc,
                       argv,
                       [&](CLI::App& app) {
                         app.description(introduction);
                         app.footer(list_of_variants() + "\n" + columns);
                         add_options(app, options, grid);
                       }};
  options.grid = grid.empty() ? std::nullopt : grid_from(grid);
  if (options.block_bytes.empty()) {
    options.block_bytes = {4096, 65536, 262144};
    if (report.is_full()) {
      options.block_bytes = {1024, 4096, 16384, 65536, 262144, 1048576};
    }
  }
  if (options.turns == 0) {
    options.turns = report.is_full() ? 31 : 9;
  }
  if (options.seconds_max == 0) {
    options.seconds_max = report.is_full() ? 5 : 1;
  }
  return report;
}

}  // namespace alltoall
