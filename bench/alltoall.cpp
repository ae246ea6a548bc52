// SPDX-License-Identifier: Apache-2.0
// All-to-alls beside work: every variant of the exchange that plait::fft has, by MPI and by plait, in one run. The
// measure is that of the all-to-all harness of PSDNS: work that was calibrated against the blocking exchange.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/plait.hpp"

#include "alltoall/harness.hpp"
#include "alltoall/model.hpp"
#include "alltoall/options.hpp"
#include "alltoall/table.hpp"

namespace {

/// A longer poll would delay the next one, and the system preempts a thread that runs longer.
constexpr plait::nanoseconds poll_length_max = std::chrono::microseconds{50};

void add(bench::Report& report, const alltoall::SizeMeasured& measured) {
  print_table(measured);
  std::fflush(stdout);
  for (bench::Row& row : rows_of(measured)) {
    report.add(std::move(row));
  }
}

void run(const alltoall::Options& options, bench::Report& report) {
  plait::Options runtime_options = plait::Options::from_environment();
  runtime_options.worker_count = 1;  // every variant has one core a rank
  runtime_options.trace_folder.clear();
  runtime_options.progression.period_min = options.poll_period;
  runtime_options.progression.period_max = options.poll_period;  // handshakes wait for polls that move nothing else
  runtime_options.progression.burst_max = poll_length_max;
  plait::Runtime runtime{MPI_COMM_WORLD, runtime_options};
  alltoall::Harness harness{options, runtime};
  const bool is_first = runtime.self() == plait::Rank{0};
  if (is_first) {
    fmt::print("{}work: {}, {} of the blocking all-to-all{}\n\n",
               harness.description(),
               options.work == alltoall::WorkKind::sincos ? "sincos" : "stream",
               options.work_fraction,
               options.has_barriers ? "" : ", no barriers");
  }
  for (const std::size_t bytes : options.block_bytes) {
    const alltoall::SizeMeasured measured = harness.measure(bytes);
    if (is_first) {
      add(report, measured);
    }
  }
  for (const std::string& sentence : harness.left_out()) {
    if (is_first) {
      fmt::print("{}\n", sentence);
    }
  }
}

void run_model(const alltoall::Options& options, bench::Report& report) {
  const std::uint32_t ranks = options.grid ? options.grid->columns : 2;
  fmt::print("model: a row of {} ranks on links of 1 Gbit/s, virtual time; work: {} of the all-to-all\n\n",
             ranks,
             options.work_fraction);
  for (const std::size_t bytes : options.block_bytes) {
    add(report, alltoall::measure_model(options, ranks, bytes));
  }
}

/// For windows across nodes, Open MPI 4 prefers a component that fails over TCP, and does not try the next one. A
/// choice of the user is kept.
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
  alltoall::Options options;
  bench::Report report = alltoall::parse(argc, argv, options);
  if (report.is_model()) {
    run_model(options, report);
    report.write_file();  // the tables are printed already
    return 0;
  }
  choose_components();
  plait::MpiSession session{argc, argv};
  try {
    run(options, report);
  } catch (const std::exception& error) {
    session.fail("bench_alltoall", error);
  }
  report.write_file();
}
