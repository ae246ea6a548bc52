// SPDX-License-Identifier: Apache-2.0
// Transforms on a grid of ranks whose rows are within hosts, and on one whose rows go across them, in turns. What
// crossed the links is counted.
#include <complex>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

#include "support/link_meter.hpp"
#include "support/raw_mpi.hpp"
#include "support/report.hpp"
#include "support/stopwatch.hpp"

namespace {

using plait::fft::Index;

/// The ranks of MPI_COMM_WORLD in another order.
class Reordered {
 public:
  explicit Reordered(int place) { MPI_Comm_split(MPI_COMM_WORLD, 0, place, &comm_); }
  Reordered(const Reordered&) = delete;
  Reordered& operator=(const Reordered&) = delete;
  ~Reordered() { MPI_Comm_free(&comm_); }
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// Transforms with the ranks in one order.
struct Side {
  Side(int place, Index edge, std::uint32_t row)
      : order{place},
        runtime{order.comm()},
        plan{runtime.messages(),
             runtime.scheduler(),
             {edge, edge, edge},
             {.grid = {.row = row, .column = runtime.rank_count() / row}}},
        points(static_cast<std::size_t>(plan.physical().size()), 1.0),
        modes(static_cast<std::size_t>(plan.spectral().size())),
        there{plan, std::span<const double>{points}, std::span{modes}},
        back{plan,
             std::span<const std::complex<double>>{modes},
             std::span{points},
             1 / static_cast<double>(plan.point_count())} {}

  void run() {
    there.run();
    back.run();
  }

  Reordered order;
  plait::Runtime runtime;
  plait::fft::Plan plan;
  std::vector<double> points;
  std::vector<std::complex<double>> modes;
  plait::fft::Execution there;
  plait::fft::Execution back;
  std::vector<double> ms;
  bench::Crossing crossing;
};

void take(Side& side, bench::LinkMeter& links, bool counts) {
  bench::Crossing crossing;
  links.start();
  MPI_Barrier(MPI_COMM_WORLD);
  const bench::Stopwatch watch;
  side.run();
  double ms = watch.seconds() * 1e3;
  MPI_Allreduce(MPI_IN_PLACE, &ms, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  auto leaving = static_cast<double>(2 * side.plan.bytes_leaving_node());
  MPI_Allreduce(MPI_IN_PLACE, &leaving, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  links.stop(leaving, crossing);
  if (counts) {
    side.ms.push_back(ms);
    side.crossing.expected += crossing.expected;
    side.crossing.crossed += crossing.crossed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"rows",
                       "transforms take less time where the rows of the grid of ranks are within hosts",
                       {.ranks = {8}, .network = bench::Network::lab},
                       argc,
                       argv};
  plait::MpiSession session{argc, argv};
  constexpr int row = 2;
  const int rank = bench::RawMpi::rank();
  const int column = bench::RawMpi::rank_count() / row;
  bench::LinkMeter links;
  for (const Index edge : {Index{64}, Index{128}}) {
    // Of hosts with two ranks each: the first ranks of all hosts, then the second ones.
    Side within{rank, edge, row};
    Side across{rank % row * column + rank / row, edge, row};
    for (int turn = 0; turn <= (report.is_full() ? 30 : 12); ++turn) {
      for (Side* const side : {&within, &across}) {
        take(*side, links, turn > 0);
      }
    }
    const std::map<std::string, std::string> params{{"points", fmt::format("{}^3", edge)},
                                                    {"ranks", std::to_string(bench::RawMpi::rank_count())}};
    const auto mb = [](const Side& side) { return side.crossing.crossed / static_cast<double>(side.ms.size()) / 1e6; };
    if (!within.crossing.is_whole() || !across.crossing.is_whole()) {
      report.note(fmt::format("{}^3 has no row: {}; {}", edge, within.crossing.sentence(), across.crossing.sentence()));
      continue;
    }
    report.add({.name = "there and back, rows within hosts",
                .params = params,
                .value = within.ms,
                .unit = "ms",
                .peer = "across",
                .peer_value = bench::median(across.ms)});
    report.add({.name = "crossed, rows within hosts",
                .params = params,
                .value = mb(within),
                .unit = "MB",
                .peer = "across",
                .peer_value = mb(across)});
  }
  report.finish();
}
