// SPDX-License-Identifier: Apache-2.0
// All-to-alls beside work: every variant of the PSDNS test harness on today's MPI, and plait's own, in one run.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/plait.hpp"

#include "alltoall/coarray.hpp"
#include "alltoall/harness.hpp"
#include "alltoall/model.hpp"
#include "alltoall/options.hpp"
#include "alltoall/table.hpp"
#include "support/report.hpp"

namespace {

using alltoall::Direction;

/// What longer looks move could wait for the next one, and a thread that runs longer is preempted longer, too.
constexpr plait::nanoseconds look_length_max = std::chrono::microseconds{50};

bench::Report make_report(alltoall::Options& options) {
  std::vector<char*> arguments;
  for (std::string& argument : options.report_arguments) {
    arguments.push_back(argument.data());
  }
  return {"alltoall",
          "aims at hiding an all-to-all behind work that makes no call; MPI's own variants beside it",
          bench::Place{.ranks = {2}, .network = bench::Network::lab},
          static_cast<int>(arguments.size()),
          arguments.data()};
}

void print_head(const alltoall::Harness& harness, const alltoall::Options& options) {
  fmt::print("grid {}x{}, work: {}, {} of the blocking all-to-all{}\n",
             harness.shape().rows,
             harness.shape().columns,
             options.work == alltoall::WorkKind::sincos ? "sincos" : "stream",
             options.work_fraction,
             options.has_barriers ? "" : ", no barriers");
  for (const Direction direction : alltoall::directions) {
    const alltoall::Group& group = harness.group(direction);
    fmt::print("{}s of {}: {} on one node; of each message to all, {} of {} blocks leave the node\n",
               to_string(direction),
               group.size(),
               group.on_node(),
               group.size() - group.on_node(),
               group.size());
  }
  for (const std::string& sentence : harness.left_out()) {
    fmt::print("{}\n", sentence);
  }
  fmt::print("\n");
}

void add(bench::Report& report, const alltoall::SizeMeasured& measured) {
  print_table(measured);
  std::fflush(stdout);
  for (bench::Row& row : rows_of(measured)) {
    report.add(std::move(row));
  }
}

/// The table is printed already: the report is for its file.
void finish(const bench::Report& report, const alltoall::Options& options) {
  if (std::ranges::find(options.report_arguments, "--json") != options.report_arguments.end()) {
    report.finish();
  }
}

/// What is left to do when MPI has ended.
struct Measurements {
  bool is_first_rank = false;
  std::vector<alltoall::SizeMeasured> sizes;
  std::size_t ranks = 0;
  std::string coarray_left_out;  ///< Why coarrays cannot join; empty if they can.
};

Measurements run(alltoall::Options& options, bench::Report& report) {
  plait::Options runtime_options = plait::Options::from_environment();
  runtime_options.worker_count = 1;  // every variant has one core a rank
  runtime_options.trace_folder.clear();
  runtime_options.progression.period_min = options.look_period;
  runtime_options.progression.period_max = options.look_period;  // handshakes wait for looks that move nothing else
  runtime_options.progression.burst_max = look_length_max;
  plait::Runtime runtime{MPI_COMM_WORLD, runtime_options};
  alltoall::Harness harness{MPI_COMM_WORLD, options, runtime};
  Measurements all{.is_first_rank = runtime.self() == plait::Rank{0}, .ranks = runtime.rank_count()};
  if (all.is_first_rank) {
    print_head(harness, options);
  }
  for (const std::size_t bytes : options.block_bytes) {
    all.sizes.push_back(harness.measure(bytes));
    if (all.is_first_rank) {
      add(report, all.sizes.back());
    }
  }
  const alltoall::Group& row = harness.group(Direction::row);
  if (row.size() != all.ranks || !row.is_on_one_node()) {
    all.coarray_left_out = "its images are one row on one node";
  }
  return all;
}

void add_coarrays(bench::Report& report, const alltoall::Options& options, const Measurements& all) {
  const auto is_wanted = [](const std::string& name) { return name == "CoM" || name == "CrB"; };
  if (!options.variants.empty() && std::ranges::none_of(options.variants, is_wanted)) {
    return;
  }
  std::string left_out = all.coarray_left_out;
  for (const alltoall::SizeMeasured& size : all.sizes) {
    if (left_out.empty()) {
      const alltoall::CoarrayOutcome outcome = run_coarray(options, all.ranks, size);
      left_out = outcome.left_out;
      if (left_out.empty()) {
        print_table(outcome.measured);
        for (bench::Row& one : rows_of(outcome.measured)) {
          if (one.params.contains("by")) {  // MPI's own row is there already
            report.add(std::move(one));
          }
        }
      }
    }
  }
  if (!left_out.empty()) {
    fmt::print("CoM and CrB in coarray Fortran are left out: {}\n", left_out);
  }
}

void run_model(const alltoall::Options& options, bench::Report& report) {
  const int ranks = options.grid ? options.grid->columns : 2;
  fmt::print("model: a row of {} ranks on links of 1 Gbit/s, virtual time; work: {} of the all-to-all\n\n",
             ranks,
             options.work_fraction);
  for (const std::size_t bytes : options.block_bytes) {
    add(report, alltoall::measure_model(options, static_cast<std::uint32_t>(ranks), bytes));
  }
  finish(report, options);
}

/// Open MPI 4 prefers, for windows across nodes, a component that then fails over TCP, and does not try its next;
/// without that it succeeds. Whoever has chosen components keeps them.
void choose_components() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);  // one of the few calls allowed before MPI_Init
  if (std::string_view{version}.starts_with("Open MPI v4.")) {
    setenv("OMPI_MCA_osc", "^rdma", 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  alltoall::Options options = alltoall::parse(argc, argv);
  bench::Report report = make_report(options);  // ends the program for --describe
  if (options.is_model) {
    run_model(options, report);
    return 0;
  }
  choose_components();
  Measurements all;
  {
    plait::MpiSession session{argc, argv};
    try {
      all = run(options, report);
    } catch (const plait::Error& error) {
      fmt::print(stderr, "bench_alltoall: {}\n", error.what());
      session.abort(1);
    }
  }
  if (all.is_first_rank) {
    add_coarrays(report, options, all);
    finish(report, options);
  }
}
