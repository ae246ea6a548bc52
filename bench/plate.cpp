// SPDX-License-Identifier: Apache-2.0
// Charged particles emitted from a plate: how close balancing comes to the optimum that the loads allow, and what
// lending costs a step. On the ranks of the run, all ways alternate, block by block; then so do all balancers, those of
// Zoltan beside ours. For more ranks, balancers place the patch costs that were measured here, and a model of the
// network plays the phase.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "plait/data/balance/zoltan/entries.hpp"

#include "pic/balancers.hpp"
#include "pic/block.hpp"
#include "pic/mpi/mpi_ranks.hpp"
#include "pic/parallel/collection_way.hpp"
#include "pic/parallel/plain_way.hpp"
#include "pic/phase_model.hpp"
#include "support/report.hpp"

namespace {

namespace balance = plait::data::balance;
using bench::median;
using Params = std::map<std::string, std::string>;

constexpr int block_steps = 20;
constexpr int warm_blocks = 4;
/// A placement within 5 % stays: loads differ by as much from one block to the next.
const char* const balancer_name = "refine:tolerance=0.05";

pic::ProblemOptions plate(std::int32_t cells, int blocks) {
  return {.name = "plate",
          .cells = {cells, cells},
          .steps = static_cast<std::uint64_t>(blocks) * block_steps,
          .plate = {0.05, 0.30}};
}

struct Series {
  std::vector<double> plain, unbalanced, synchronous, balanced, over_optimum, over_predicted, share;
  std::vector<double> lending, plain_lending;  ///< Percent of a step.
};

void measure_factor(bench::Report& report, plait::Runtime& runtime, pic::Ranks& ranks, int factor) {
  const int rounds = report.is_full() ? 21 : 7;
  const pic::ProblemOptions options = plate(96, rounds + warm_blocks);
  const auto problem = [&] { return pic::make_problem<2>(options); };
  const pic::BalanceOptions none{.patches_per_rank = factor, .balance_steps = block_steps};
  pic::BalanceOptions with = none;
  with.balancer = balancer_name;
  pic::BalanceOptions bisection = none;
  bisection.balancer = "bisection";
  pic::PlainWay<2> plain{problem(), {.patches_per_rank = 1}, ranks};
  pic::CollectionWay<2> unbalanced{problem(), none, runtime, ranks};
  pic::PlainWay<2> synchronous{problem(), bisection, ranks};
  pic::CollectionWay<2> balanced{problem(), with, runtime, ranks};
  Series series;
  for (int round = -warm_blocks; round < rounds; ++round) {
    const bench::BlockTimes plain_times = bench::run_block(plain, ranks, block_steps);
    const double unbalanced_step = bench::run_block(unbalanced, ranks, block_steps).step;
    const double synchronous_step = bench::run_block(synchronous, ranks, block_steps).step;
    const bench::BlockTimes times = bench::run_block(balanced, ranks, block_steps);
    if (round < 0) {
      continue;
    }
    const double optimum = bench::take_loads(balanced, ranks, block_steps).optimum();
    series.plain.push_back(plain_times.step);
    series.unbalanced.push_back(unbalanced_step);
    series.synchronous.push_back(synchronous_step);
    series.balanced.push_back(times.step);
    series.lending.push_back(100 * times.lending / times.step);
    series.plain_lending.push_back(100 * plain_times.lending / plain_times.step);
    series.over_optimum.push_back(100 * (times.particles / optimum - 1));
    if (!balanced.balancings().empty()) {  // with a patch or two a rank there is nothing to move
      const pic::BalanceNote& note = balanced.balancings().back();
      series.over_predicted.push_back(100 * ((1 + note.imbalance_predicted) / (1 + note.imbalance_bound) - 1));
    }
    series.share.push_back(times.step <= 0 ? 0 : (plain_times.step - plain_times.particles + optimum) / times.step);
  }
  if (balanced.totals().checksum != plain.totals().checksum) {
    throw plait::Error{plait::ErrorCode::bad_input, "balancing has changed the result: a defect of plait"};
  }
  const Params params{{"patches a rank", std::to_string(factor)}, {"ranks", std::to_string(ranks.count())}};
  report.add({.name = "step",
              .params = params,
              .value = series.balanced,
              .unit = "s",
              .peers = {{"plain MPI", median(series.plain), 0},
                        {"collection, not balanced", median(series.unbalanced), 0},
                        {"synchronous bisection", median(series.synchronous), 0}}});
  const auto add = [&](const char* name, const std::vector<double>& values, const char* unit, double bound) {
    report.add({name, params, values, unit, "", {}, "aim", bound});
  };
  add("particle phase over its optimum", series.over_optimum, "%", 10);
  if (!series.over_predicted.empty()) {
    add("predicted over the optimum", series.over_predicted, "%", 2);
  }
  add("speed-up over plain MPI, of what loads allow", series.share, "", 0.9);
  report.add({"lending and giving back, of a step",
              params,
              series.lending,
              "%",
              "plain MPI, of its step",
              median(series.plain_lending)});
}

/// The costs of many small patches, as measured here; the same on every rank.
struct Recorded {
  balance::Problem problem;
  pic::Place<2> parts{};
};

Recorded record(plait::Runtime& runtime, pic::Ranks& ranks, int patches) {
  const auto edge = static_cast<std::int32_t>(std::lround(std::sqrt(patches)));
  const pic::Problem<2> problem = pic::make_problem<2>(plate(4 * edge, 8));
  const int each = patches / ranks.count();
  pic::CollectionWay<2> way{problem, {.patches_per_rank = each}, runtime, ranks};
  (void)bench::run_block(way, ranks, 7 * block_steps);
  (void)way.take_loads();
  (void)bench::run_block(way, ranks, block_steps);
  const pic::Layout<2> layout{problem.physics.grid, ranks.count(), each};
  Recorded recorded{.parts = layout.patches.parts()};
  struct Load {
    std::uint64_t id, peer;
    double seconds, bytes;
  };
  std::vector<Load> mine;
  for (const plait::data::ElementLoad& load : way.take_loads()) {
    mine.push_back({load.id.value(), load.id.value(), load.seconds / block_steps, 0});
    for (const plait::data::PeerBytes& sent : load.sent) {
      mine.push_back({load.id.value(), sent.peer.value(), 0, static_cast<double>(sent.bytes) / block_steps});
    }
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> between;
  recorded.problem.objects.resize(static_cast<std::size_t>(layout.patches.count()));
  for (const plait::Bytes& bytes : plait::all_gather(runtime.messages(), std::as_bytes(std::span{mine}))) {
    std::vector<Load> loads(bytes.size() / sizeof(Load));
    std::memcpy(loads.data(), bytes.data(), bytes.size());
    for (const Load& load : loads) {
      if (load.id != load.peer) {
        const auto [low, high] =
            std::minmax({static_cast<std::uint32_t>(load.id), static_cast<std::uint32_t>(load.peer)});
        between[{low, high}] += load.bytes;
        continue;
      }
      balance::Object& object = recorded.problem.objects[load.id];
      const pic::Box<2> box = layout.patches.box(static_cast<std::int32_t>(load.id));
      object = {.id = plait::data::ElementId{load.id},
                .rank = plait::Rank{0},
                .load = load.seconds,
                .position = {0.5 * (box.low[0] + box.high[0]), 0.5 * (box.low[1] + box.high[1]), 0}};
    }
  }
  for (const auto& [pair, bytes] : between) {
    recorded.problem.edges.push_back({pair.first, pair.second, bytes});
  }
  return recorded;
}

void model(bench::Report& report, Recorded recorded, std::uint32_t rank_count) {
  balance::Problem& problem = recorded.problem;
  problem.rank_count = rank_count;
  const pic::Division<2> blocks{recorded.parts,
                                pic::best_parts<2>(recorded.parts, static_cast<std::int32_t>(rank_count))};
  for (std::size_t i = 0; i < problem.objects.size(); ++i) {
    const auto n = static_cast<std::int32_t>(i);
    const pic::Place<2> place{n % recorded.parts[0], n / recorded.parts[0]};
    problem.objects[i].rank = plait::Rank{static_cast<std::uint32_t>(blocks.part_of_cell(place))};
  }
  const double optimum = balance::load_bound(problem);
  double sum = 0;
  double heaviest = 0;
  for (const balance::Object& object : problem.objects) {
    sum += object.load;
    heaviest = std::max(heaviest, object.load);
  }
  const std::string weight = fmt::format("{:.2f}", heaviest / (sum / rank_count));
  const plait::net::LogGP network{};  // 1 us, 10 GB/s
  const auto add = [&](const std::string& name, const balance::Placement& placement) {
    const Params params{{"ranks", std::to_string(rank_count)},
                        {"patches a rank", std::to_string(problem.objects.size() / rank_count)},
                        {"heaviest patch / mean rank", weight},
                        {"placed by", name}};
    const auto percent = [optimum](double seconds) { return 100 * (seconds / optimum - 1); };
    report.add({"modelled: predicted over the optimum",
                params,
                percent(balance::score(problem, placement).load_max),
                "%",
                "",
                {},
                "aim",
                2});
    report.add({"modelled: particle phase over its optimum",
                params,
                percent(bench::modelled_phase(problem, placement, network)),
                "%",
                "",
                {},
                "aim",
                10});
  };
  add("none", balance::present_placement(problem));
  for (const char* const name : {"bisection", "greedy", "zoltan-rcb", "zoltan-hsfc", "zoltan-graph"}) {
    try {
      add(name, balance::make_balancer(name, balance::entries_with_zoltan())->decide(problem).placement);
    } catch (const plait::Error& error) {
      report.note(error.what());
    }
  }
}

void measure_balancers(bench::Report& report, plait::Runtime& runtime, pic::Ranks& ranks) {
  const int rounds = report.is_full() ? 21 : 7;
  bench::compare_balancers(report,
                           runtime,
                           ranks,
                           {.problem = plate(96, rounds + warm_blocks),
                            .block_steps = block_steps,
                            .warm_blocks = warm_blocks,
                            .blocks = rounds});
}

void measure(bench::Report& report, plait::Runtime& runtime, pic::Ranks& ranks) {
  for (const int factor : report.is_full() ? std::vector{1, 2, 4, 8, 16, 32} : std::vector{1, 4, 16, 32}) {
    measure_factor(report, runtime, ranks, factor);
  }
  measure_balancers(report, runtime, ranks);
  const Recorded recorded = record(runtime, ranks, 16384);
  for (const std::uint32_t rank_count : {64U, 256U, 1024U}) {
    if (ranks.self() == 0) {
      model(report, recorded, rank_count);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bool has_balancers_only = false;
  bench::Report report{"plate",
                       "an emission that no fixed decomposition can balance runs within 10 % of what its loads allow, "
                       "on a collection with 16 patches a rank",
                       {.ranks = {2}},
                       argc,
                       argv,
                       [&](CLI::App& app) {
                         app.add_flag("--balancers", has_balancers_only, "Balancers only, ours and those of Zoltan");
                       }};
  plait::MpiSession session{argc, argv, true};
  try {
    plait::Runtime runtime{MPI_COMM_WORLD};
    pic::MpiRanks ranks{MPI_COMM_WORLD};
    (has_balancers_only ? measure_balancers : measure)(report, runtime, ranks);
    report.finish();
  } catch (const std::exception& error) {
    session.fail("bench_plate", error);
  }
}
