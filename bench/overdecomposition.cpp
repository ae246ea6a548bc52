// SPDX-License-Identifier: Apache-2.0
// What it costs to cut a balanced plasma into more patches than ranks, on a collection: the plain MPI program and each
// number of patches take turns, block by block, on the same particles.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "pic/blocks.hpp"
#include "pic/parallel/collection_way.hpp"
#include "pic/run_on_ranks.hpp"
#include "support/report.hpp"

namespace {

using pic::Way;

struct Subject {
  int patches_per_rank;
  std::unique_ptr<Way> way;
  std::vector<double> seconds;
  std::vector<double> added;  ///< Percent, over the plain way in the same round.
};

double bound_of(int patches_per_rank) {
  return patches_per_rank == 1 ? 2 : patches_per_rank <= 16 ? 5 : 10;
}

void measure(bench::Report& report, plait::Runtime& runtime, pic::Ranks& ranks) {
  const pic::ProblemOptions options{.name = "uniform",
                                    .cells = {128, 128},
                                    .particles_per_cell = report.is_full() ? 64U : 16U,
                                    .steps = 1000,
                                    .thermal = 0.1};
  const auto problem = [&] { return pic::make_problem<2>(options); };
  std::vector<Subject> subjects;
  for (const int factor : {1, 2, 4, 8, 16, 32, 64}) {
    subjects.push_back({factor,
                        std::make_unique<pic::CollectionWay<2>>(
                            problem(), pic::BalanceOptions{.patches_per_rank = factor}, runtime, ranks),
                        {},
                        {}});
  }
  pic::StaticWay<2> plain{problem(), 1, ranks};
  std::vector<double> plain_seconds;
  const int rounds = report.is_full() ? 25 : 11;
  constexpr int steps = 8;
  for (int round = 0; round <= rounds; ++round) {
    const double reference = bench::run_block(plain, ranks, steps).step;
    for (Subject& subject : subjects) {
      const double seconds = bench::run_block(*subject.way, ranks, steps).step;
      if (round > 0) {  // the first one warms up
        subject.seconds.push_back(seconds);
        subject.added.push_back(100 * (seconds / reference - 1));
      }
    }
    if (round > 0) {
      plain_seconds.push_back(reference);
    }
  }
  const std::uint64_t expected = plain.totals().checksum;
  for (Subject& subject : subjects) {
    if (subject.way->totals().checksum != expected) {
      throw plait::Error{plait::ErrorCode::bad_input,
                         fmt::format("{} patches a rank give another answer than the plain program: a defect of plait",
                                     subject.patches_per_rank)};
    }
    const std::map<std::string, std::string> params{{"patches a rank", std::to_string(subject.patches_per_rank)},
                                                    {"particles", std::to_string(plain.totals().particles)}};
    report.add({"step",
                params,
                bench::spread_of(subject.seconds),
                "s",
                "plain MPI, one patch a rank",
                bench::spread_of(plain_seconds).median,
                "",
                {}});
    report.add({"added to a step",
                params,
                bench::spread_of(subject.added),
                "%",
                "",
                {},
                "what it shall cost at most",
                bound_of(subject.patches_per_rank)});
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{
      "overdecomposition",
      "many patches a rank cost little where there is nothing to balance: at most 2 % for one, 5 % for "
      "16, 10 % for 64, beside plain MPI",
      2,
      argc,
      argv};
  bench::run_on_ranks(report, argc, argv, measure);
}
