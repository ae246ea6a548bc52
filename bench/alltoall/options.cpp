// SPDX-License-Identifier: Apache-2.0
#include "alltoall/options.hpp"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace alltoall {

namespace {

constexpr const char* introduction =
    "Compares ways to do an all-to-all while computing. Ranks form a grid; all-to-alls alternate between its rows and "
    "its "
    "columns. For each message size the work is made as long as the best blocking MPI_Alltoall takes, once, and is "
    "then "
    "the same for all variants, which take turns. Every element of every result is checked.";

constexpr const char* columns =
    "Columns: iters = iterations kept; t_total = seconds for communication and work, t_comp = of these in the work, "
    "both "
    "on the slowest rank, medians; overlap = (T_B - T_N) / min(communication, work) against the variant's own twin "
    "that "
    "works after the communication, median and quartiles over pairs of turns: 1 = all was hidden, below 0 = it was "
    "slower; best = the same of the least times; x max = t_total over max(communication, work), the best there can be "
    "being 1; x MPI = t_total over that of the blocking MPI.";

std::string list_of_variants() {
  std::string text = "Variants:\n";
  for (const FamilyEntry& family : families()) {
    for (const Member& member : family.members) {
      text += fmt::format("  {:<5} {}\n", member.name, member.summary);
    }
  }
  return text;
}

std::optional<GridShape> grid_from(const std::string& text) {
  GridShape shape;
  const char* const end = text.data() + text.size();
  const auto rows = std::from_chars(text.data(), end, shape.rows);
  if (rows.ec != std::errc{} || rows.ptr == end || *rows.ptr != 'x') {
    return std::nullopt;
  }
  const auto columns_read = std::from_chars(rows.ptr + 1, end, shape.columns);
  if (columns_read.ec != std::errc{} || columns_read.ptr != end || shape.rows < 1 || shape.columns < 1) {
    return std::nullopt;
  }
  return shape;
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
  for (const FamilyEntry& family : families()) {
    if (std::ranges::find(family.members, name, &Member::name) != family.members.end()) {
      return "";
    }
  }
  return fmt::format("there is no variant {}; --help lists them", name);
}

/// What the command line says, before it is put together.
struct Raw {
  Options options;
  std::string grid;
  std::string json_file;
  bool is_full = false;
  bool is_describe = false;
};

void add_options(CLI::App& app, Raw& raw) {
  Options& options = raw.options;
  app.add_option("--grid", raw.grid, "rows and columns, as 2x4 [as square as can be]")->check(check_grid);
  app.add_option("--sizes", options.block_bytes, "bytes to each rank, several with commas [4096,65536,262144]")
      ->delimiter(',')
      ->check(check_bytes);
  app.add_option("--variants", options.variants, "only these, several with commas; a variant brings its twin")
      ->delimiter(',')
      ->check(check_variant);
  app.add_option("--work", options.work, "sincos: the seed's loop; stream: through memory [sincos]")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, WorkKind>{{"sincos", WorkKind::sincos}, {"stream", WorkKind::stream}}));
  app.add_option("--work-fraction", options.work_fraction, "work over the blocking all-to-all's time [1]")
      ->check(CLI::Range(1e-6, 1e6));
  app.add_option("--chunk", options.settings.chunk_bytes, "bytes of a chunk of CoM and CoM2 [512]")->check(check_bytes);
  app.add_option("--tests", options.settings.test_count, "MPI_Tests in the work of MIT [16]")
      ->check(CLI::PositiveNumber);
  app.add_option("--pieces", options.settings.piece_count_max, "pieces of a block of PLT, at most [4]")
      ->check(CLI::Range(1, 999));
  app.add_option_function<int>(
         "--look",
         [&options](int microseconds) { options.look_period = std::chrono::microseconds{microseconds}; },
         "microseconds between the looks of plait's timer while data moves [200]")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--iters", options.iterations, "iterations in a turn [5]")->check(CLI::PositiveNumber);
  app.add_option("--turns", options.turns, "turns in which the variants alternate [9; 31 with --full]")
      ->check(CLI::PositiveNumber);
  app.add_option("--seconds", options.seconds_max, "for one variant at one size, at most [1; 5 with --full]")
      ->check(CLI::PositiveNumber);
  app.add_flag("--barriers,!--no-barriers", options.has_barriers, "wait for all before each all-to-all [yes]");
  app.add_flag("--full", raw.is_full, "more sizes and turns");
  app.add_flag("--model", options.is_model, "on a simulated network of 1 Gbit/s instead of MPI");
  app.add_option("--json", raw.json_file, "also write the results to this file");
  app.add_flag("--describe", raw.is_describe, "tell what this benchmark shows, as JSON, and end");
}

/// What all ranks print, one does: the launcher gives each its number before MPI starts.
bool is_first_rank() {
  for (const char* const name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    if (const char* const value = std::getenv(name)) {
      return std::string_view{value} == "0";
    }
  }
  return true;
}

/// The program and its own options: what a report shows as the command, beside the options that it sees itself.
std::string own_part(int argc, char** argv) {
  std::string text = argv[0];
  for (int i = 1; i < argc; ++i) {
    const std::string_view word{argv[i]};
    if (word == "--json") {
      ++i;
    } else if (word != "--full" && word != "--model" && !word.starts_with("--json=")) {
      text += fmt::format(" {}", word);
    }
  }
  return text;
}

}  // namespace

Options parse(int argc, char** argv) {
  Raw raw;
  CLI::App app{introduction, "bench_alltoall"};
  app.footer(list_of_variants() + "\n" + columns);
  add_options(app, raw);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool is_help = error.get_exit_code() == 0;
    if (is_first_rank()) {
      app.exit(error);
    }
    std::exit(is_help ? 0 : 2);
  }
  Options options = std::move(raw.options);
  if (!raw.grid.empty()) {
    options.grid = grid_from(raw.grid);
  }
  if (options.block_bytes.empty()) {
    options.block_bytes = {4096, 65536, 262144};
    if (raw.is_full) {
      options.block_bytes = {1024, 4096, 16384, 65536, 262144, 1048576};
    }
  }
  options.turns = raw.is_full && app.count("--turns") == 0 ? 31 : options.turns;
  options.seconds_max = raw.is_full && app.count("--seconds") == 0 ? 5 : options.seconds_max;
  options.settings.block_bytes_max = std::ranges::max(options.block_bytes);
  options.report_arguments = {own_part(argc, argv)};
  if (raw.is_full) {
    options.report_arguments.emplace_back("--full");
  }
  if (options.is_model) {
    options.report_arguments.emplace_back("--model");
  }
  if (raw.is_describe) {
    options.report_arguments.emplace_back("--describe");
  }
  if (!raw.json_file.empty()) {
    options.report_arguments.insert(options.report_arguments.end(), {"--json", raw.json_file});
  }
  return options;
}

}  // namespace alltoall
