// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/rebalancer.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/comm/collectives/reduce.hpp"
#include "plait/comm/nodes.hpp"
#include "plait/data/balance/recorded_loads.hpp"
#include "plait/testing/local_rank.hpp"
#include "plait/testing/temporary_folder.hpp"

namespace plait::data::rebalancer_test {
namespace {

using plait::test::LocalRank;
using plait::test::run_on_ranks;

struct Piece {
  std::uint64_t id = 0;
  double weight = 1;
  std::uint64_t heard = 0;
  void hear(std::uint64_t /*from*/) { ++heard; }
};

/// Loads that the piece defines, not measured ones: results must not depend on the machine.
std::vector<ElementLoad> told_loads(const Collection<Piece>& pieces, bool with_messages) {
  std::vector<ElementLoad> loads = pieces.loads();
  for (ElementLoad& load : loads) {
    load.seconds = pieces.find(load.id)->weight;
    if (!with_messages) {
      load.sent.clear();
    }
  }
  return loads;
}

constexpr std::uint32_t side = 8;

Collection<Piece> make_pieces(LocalRank& rank, double steepness) {
  return {rank, Shape{side, side}, [=](ElementId id, Index at) {
            return Piece{.id = id.value(), .weight = 1 + steepness * at.y};
          }};
}

double imbalance_now(LocalRank& rank, const Collection<Piece>& pieces) {
  std::vector<double> loads(rank.rank_count(), 0.0);
  for (const auto& [id, piece] : pieces.local()) {
    loads[rank.self().value()] += piece.weight;
  }
  comm::all_reduce(comm::Group{rank.messages(), comm::CommId{77}}, std::span{loads}).wait();
  const double mean = std::accumulate(loads.begin(), loads.end(), 0.0) / static_cast<double>(loads.size());
  return *std::ranges::max_element(loads) / mean - 1;
}

void talk(Collection<Piece>& pieces) {
  pieces.each([&](Piece& piece, ElementContext& context) {
    for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{side}}) {
      if (piece.id + step < side * side) {
        context.send<&Piece::hear>(ElementId{piece.id + step}, piece.id);
      }
    }
  });
}

TEST(Rebalancer, moves_elements_until_loads_are_even_with_every_balancer) {
  for (const balance::BalancerEntry& entry : balance::balancer_entries()) {
    run_on_ranks({.ranks = 3}, {.worker_count = 1}, [&](LocalRank& rank) {
      Collection<Piece> pieces = make_pieces(rank, 1);
      Rebalancer rebalancing{rank.messages(), rank.trace(), {}};
      const auto balancer = balance::make_balancer(entry.name);
      talk(pieces);
      const double before = imbalance_now(rank, pieces);
      rebalancing.observe(told_loads(pieces, true), pieces.shape(), 0);
      pieces.reset_loads();
      const std::vector<Move> moves = rebalancing.decide(*balancer);
      ASSERT_TRUE(rebalancing.history().back().is_done) << entry.name << ": " << rebalancing.history().back().reason;
      const balance::BalanceReport report = rebalancing.moved(pieces.migrate(moves), moves);
      EXPECT_NEAR(report.imbalance_before, before, 1e-9) << entry.name;
      EXPECT_NEAR(report.imbalance_predicted, imbalance_now(rank, pieces), 1e-9) << entry.name;
      EXPECT_LT(report.imbalance_predicted, before / 2) << entry.name;
      EXPECT_GT(report.objects_moved, 0U);
      EXPECT_GT(report.bytes_moved, 0);
      EXPECT_GT(report.messages, 0U);

      talk(pieces);  // Histories have gone with the elements: the second time there is nothing to gain.
      rebalancing.observe(told_loads(pieces, true), pieces.shape(), 0);
      static_cast<void>(rebalancing.decide(*balancer));
      EXPECT_NEAR(rebalancing.history().back().imbalance_before, report.imbalance_predicted, 1e-9);
      ASSERT_TRUE(rebalancing.history().front().imbalance_measured.has_value());
      EXPECT_NEAR(*rebalancing.history().front().imbalance_measured, report.imbalance_predicted, 1e-9);
    });
  }
}

TEST(Rebalancer, says_why_nothing_was_done) {
  run_on_ranks({.ranks = 2}, {.worker_count = 1}, [&](LocalRank& rank) {
    Collection<Piece> pieces = make_pieces(rank, 0);
    Rebalancer even{rank.messages(), rank.trace(), {}};
    even.observe(told_loads(pieces, false), pieces.shape(), 0);
    EXPECT_TRUE(even.decide(*balance::make_balancer("greedy")).empty());
    EXPECT_FALSE(even.history().back().is_done);
    EXPECT_EQ(even.history().back().reason, "no placement is better than the present one");
    Rebalancer patient{rank.messages(), rank.trace(), {.trigger = {.imbalance_min = 9}}};
    patient.observe(told_loads(make_pieces(rank, 1), false), pieces.shape(), 0);
    EXPECT_TRUE(patient.decide(*balance::make_balancer("greedy")).empty());
    EXPECT_NE(patient.history().back().reason.find("from which on it matters"), std::string::npos);
  });
}

TEST(Rebalancer, counts_the_rank_itself_as_load) {
  run_on_ranks({.ranks = 2}, {.worker_count = 1}, [&](LocalRank& rank) {
    Collection<Piece> pieces = make_pieces(rank, 0);
    Rebalancer rebalancing{rank.messages(), rank.trace(), {}};
    rebalancing.observe(told_loads(pieces, false), pieces.shape(), rank.self() == Rank{0} ? 16 : 0);
    const std::vector<Move> moves = rebalancing.decide(*balance::make_balancer("greedy"));
    EXPECT_DOUBLE_EQ(rebalancing.history().back().imbalance_predicted, 0);
    static_cast<void>(rebalancing.moved(pieces.migrate(moves), moves));
    EXPECT_EQ(pieces.local_count(), rank.self() == Rank{0} ? 24U : 40U);
  });
}

TEST(Rebalancer, knows_what_bytes_between_ranks_cost) {
  run_on_ranks({.ranks = 4}, {.worker_count = 1}, [&](LocalRank& rank) {
    // Column by column, so that loads are even, and neighbours along x on other ranks.
    Collection<Piece> pieces{
        rank, Shape{side, side}, [](ElementId id, Index) { return Piece{.id = id.value()}; }, {.mapping = cyclic(4)}};
    talk(pieces);
    Rebalancer rebalancing{rank.messages(), rank.trace(), {.weights = {.between_ranks = 0.01, .between_nodes = 0.01}}};
    rebalancing.observe(told_loads(pieces, true), pieces.shape(), 0);
    const std::vector<Move> moves = rebalancing.decide(*balance::make_balancer("bisection"));
    ASSERT_TRUE(rebalancing.history().back().is_done) << rebalancing.history().back().reason;
    EXPECT_DOUBLE_EQ(rebalancing.history().back().imbalance_before, 0);
    EXPECT_DOUBLE_EQ(rebalancing.history().back().imbalance_predicted, 0);
    // Of 8 bytes each: 32 edges of two inner columns before, then 4 across each inner side of a block of 4 * 4, and 4
    // from ends of rows to the beginnings of the next.
    EXPECT_NEAR(rebalancing.history().back().gain, 10 * 0.01 * 8 * (32 - 12), 1e-6);
    static_cast<void>(rebalancing.moved(pieces.migrate(moves), moves));
  });
}

TEST(Rebalancer, writes_statistics_that_read_back) {
  const plait::test::TemporaryFolder folder;
  run_on_ranks({.ranks = 2}, {.worker_count = 1}, [&](LocalRank& rank) {
    Collection<Piece> pieces = make_pieces(rank, 1);
    Rebalancer rebalancer{rank, {.statistics = folder.path() / "stats"}};
    for (int phase = 0; phase < 3; ++phase) {
      talk(pieces);
      rebalancer.observe(pieces);
      if (phase == 1) {
        static_cast<void>(rebalancer.balance(pieces, *balance::make_balancer("greedy")));
      }
    }
    EXPECT_EQ(rebalancer.history().size(), 1U);
    for (const ElementLoad& load : pieces.loads()) {
      EXPECT_TRUE(load.sent.empty()) << "observed, and reset";
    }
  });
  const balance::RecordedLoads recorded{
      std::vector<std::filesystem::path>{folder.path() / "stats.0.json", folder.path() / "stats.1.json"}};
  EXPECT_EQ(recorded.phases(), (std::vector<std::uint64_t>{0, 1, 2}));
  const balance::Problem problem = recorded.problem(2);
  EXPECT_EQ(problem.objects.size(), side * side);
  EXPECT_EQ(problem.edges.size(), 2 * side * (side - 1) + (side - 1));  // rows end at the next one's first
  EXPECT_EQ(problem.objects[side + 3].position, (std::array<double, 3>{3, 1, 0}));
}

TEST(Rebalancer, knows_the_nodes_of_its_endpoint) {
  const plait::test::TemporaryFolder folder;
  run_on_ranks({.ranks = 2}, {.worker_count = 1}, [&](LocalRank& rank) {
    comm::Nodes::set(rank.messages(), {0, 1});
    Collection<Piece> pieces = make_pieces(rank, 1);
    Rebalancer{rank, {.statistics = folder.path() / "stats"}}.observe(pieces);
  });
  const balance::RecordedLoads recorded{
      std::vector<std::filesystem::path>{folder.path() / "stats.0.json", folder.path() / "stats.1.json"}};
  EXPECT_EQ(recorded.problem(0).node_of_rank, (std::vector<std::uint32_t>{0, 1}));
}

TEST(Rebalance, in_one_line) {
  run_on_ranks({.ranks = 2}, {.worker_count = 1}, [&](LocalRank& rank) {
    Collection<Piece> pieces = make_pieces(rank, 0);
    talk(pieces);
    const balance::BalanceReport report = rebalance(rank, pieces, "greedy");
    EXPECT_EQ(report.balancer, "greedy");
    EXPECT_NE(report.is_done, !report.reason.empty());
    talk(pieces);
    for (const auto& [id, piece] : pieces.local()) {
      EXPECT_EQ(piece.heard, 2U * ((id.value() >= 1 ? 1U : 0U) + (id.value() >= side ? 1U : 0U)));
    }
  });
}

}  // namespace
}  // namespace plait::data::rebalancer_test
