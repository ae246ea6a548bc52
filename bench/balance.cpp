// SPDX-License-Identifier: Apache-2.0
// How close balancers come to an even load on the cases of the literature, what deciding takes, and what moves.
#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "plait/base/random.hpp"
#include "plait/data/balance/balancers.hpp"
#include "plait/data/balance/distributed.hpp"
#include "plait/data/balance/objective.hpp"

#include "support/report.hpp"

namespace {

using plait::Random;
using plait::Rank;
using plait::data::balance::Balancer;
using plait::data::balance::Decision;
using plait::data::balance::DistributedBalancer;
using plait::data::balance::Gathered;
using plait::data::balance::make_balancer;
using plait::data::balance::Problem;
using plait::data::balance::Score;

/// Objects with loads uniform from `least` to `most`, of 1 byte, on ranks 0 to `start_ranks` - 1 at random.
struct Case {
  std::string name;
  std::uint32_t objects;
  std::uint32_t ranks;
  double least;
  double most;
  std::uint32_t start_ranks;
  double wanted_gathered;
  double wanted_distributed;
};

Problem problem_of(const Case& one, std::uint64_t seed) {
  Random random{seed};
  Problem problem{.rank_count = one.ranks};
  for (std::uint32_t i = 0; i < one.objects; ++i) {
    const double load = one.least + (one.most - one.least) * random.unit();
    const auto rank = static_cast<std::uint32_t>(random.below(one.start_ranks));
    problem.objects.push_back({.id = plait::data::ElementId{i}, .rank = Rank{rank}, .load = load, .bytes = 1});
  }
  return problem;
}

/// Seconds of a processor that this program has had: what else runs on the machine is no matter of the balancer's.
double processor_seconds() {
  std::timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class BalanceBench {
 public:
  explicit BalanceBench(bench::Report& report) : report_{report}, seeds_{report.is_full() ? 9U : 3U} {}

  void measure(const Case& one, std::string_view text) {
    const auto balancer = make_balancer(text);
    const auto* const distributed = dynamic_cast<const DistributedBalancer*>(balancer.get());
    std::vector<double> imbalances;
    std::vector<double> seconds;
    double bound = 0;
    Decision decision;
    Score score;
    for (std::uint64_t seed = 1; seed <= seeds_; ++seed) {
      const Problem problem = problem_of(one, seed);
      const double start = processor_seconds();
      decision = balancer->decide(problem);
      seconds.push_back(processor_seconds() - start);
      score = plait::data::balance::score(problem, decision.placement);
      imbalances.push_back(score.imbalance());
      bound = plait::data::balance::load_bound(problem) / score.load_mean - 1;
    }
    if (distributed == nullptr) {
      decision = Gathered{*balancer}.decide(problem_of(one, seeds_));  // for what gathering and spreading sends
    }
    report_.add({.name = one.name,
                 .params = {{"balancer", std::string{text}},
                            {"rounds", std::to_string(decision.rounds)},
                            {"messages", std::to_string(decision.messages)},
                            {"KiB", fmt::format("{:.0f}", static_cast<double>(decision.message_bytes) / 1024)},
                            {"moved", std::to_string(score.objects_moved)},
                            {"ms", fmt::format("{:.1f}", 1e3 * bench::spread_of(seconds).median)},
                            {"wanted",
                             fmt::format("{}", distributed != nullptr ? one.wanted_distributed : one.wanted_gathered)}},
                 .value = bench::spread_of(imbalances),
                 .unit = "max/mean-1",
                 .bound = "no placement can be better",
                 .bound_value = bound});
  }

  /// What deciding alone takes.
  void time(std::uint32_t ranks, std::string_view text) {
    const auto balancer = make_balancer(text);
    std::vector<double> seconds;
    double imbalance = 0;
    for (std::uint64_t seed = 1; seed <= seeds_; ++seed) {
      const Problem problem =
          problem_of({.objects = 100'000, .ranks = ranks, .least = 1e-5, .most = 1e-1, .start_ranks = ranks}, seed);
      const double start = processor_seconds();
      const Decision decision = balancer->decide(problem);
      seconds.push_back(processor_seconds() - start);
      imbalance = plait::data::balance::score(problem, decision.placement).imbalance();
    }
    report_.add({.name = fmt::format("100000 objects on {} decided", ranks),
                 .params = {{"balancer", std::string{text}}, {"imbalance", fmt::format("{:.2g}", imbalance)}},
                 .value = bench::spread_of(seconds),
                 .unit = "processor s",
                 .bound = "wanted",
                 .bound_value = 0.1});
  }

 private:
  bench::Report& report_;
  std::uint64_t seeds_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{
      "balance", "balancers come close to what is possible, with few messages and in little time", 1, argc, argv};
  BalanceBench bench{report};
  const std::vector<Case> cases{
      {"10000 on 4096, from 16", 10'000, 4096, 1e-5, 1e-1, 16, 0.03, 0.13},
      {"10000 on 4096, spread", 10'000, 4096, 1e-5, 1e-1, 4096, 0.03, 0.13},
      {"32768 on 4096, from 16", 32'768, 4096, 1e-5, 1e-1, 16, 0.002, 0.005},
      {"32768 on 4096, spread", 32'768, 4096, 1e-5, 1e-1, 4096, 0.002, 0.005},
      {"1 +- 0.1 on 256, spread", 10'000, 256, 0.9, 1.1, 256, 0.0001, 0.012},
      {"1 +- 1 on 256, spread", 10'000, 256, 0, 2, 256, 0.0002, 1e-5},
  };
  for (const Case& one : cases) {
    for (const std::string_view text : {"greedy",
                                        "refine",
                                        "differencing",
                                        "pairwise",
                                        "hypercube:dimensions=1",
                                        "hypercube",
                                        "hypercube:dimensions=6"}) {
      bench.measure(one, text);
    }
    if (one.ranks <= 256 || report.is_full()) {  // tells every rank of thousands of others: 20 s in one process
      bench.measure(one, "gossip");
      bench.measure(one, "gossip:fanout=6,rounds=10,iterations=10");
    }
    if (one.ranks <= 256) {
      bench.measure(one, "two_level");
      bench.measure(one, "diffusion");
    }
  }
  for (const std::uint32_t ranks : {64U, 1024U, 4096U}) {
    for (const std::string_view text : {"greedy", "differencing", "refine"}) {
      bench.time(ranks, text);
    }
  }
  report.note(
      "rounds, messages and KiB of a balancer that sees the whole are those of gathering and spreading along a tree");
  report.note("\"wanted\" is the imbalance that the best of its kind, gathered or distributed, shall reach");
  report.finish();
}
