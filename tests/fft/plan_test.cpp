// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/plan.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "plait/testing/local_rank.hpp"

namespace plait::fft::plan_test {
namespace {

using plait::test::errors_on_ranks;
using plait::test::LocalRank;
using plait::test::run_on_ranks;

/// The error of each of two ranks that create different plans.
std::vector<std::string> trouble(std::array<Index, 3> zero,
                                 const PlanOptions& on_zero,
                                 std::array<Index, 3> one,
                                 const PlanOptions& on_one) {
  return errors_on_ranks({.ranks = 2}, {}, [&](LocalRank& rank) {
    const bool is_zero = rank.self() == Rank{0};
    const Plan plan{rank.messages(), rank.scheduler(), is_zero ? zero : one, is_zero ? on_zero : on_one};
  });
}

void expect_trouble(const std::vector<std::string>& said, const std::string& sentence) {
  for (const std::string& error : said) {
    EXPECT_EQ(error, sentence);
  }
}

TEST(Plan, says_on_all_ranks_what_they_differ_in) {
  const PlanOptions plain{.effort = Effort::estimate};
  expect_trouble(
      trouble({8, 8, 8}, plain, {8, 8, 9}, plain),
      "ranks create different plans of a transform: lengths 8 x 8 x 8 on rank 0, 8 x 8 x 9 on rank 1; all ranks "
      "must create the same plans in the same order");
  PlanOptions other = plain;
  other.variant = "PLN";
  expect_trouble(
      trouble({8, 8, 8}, plain, {8, 8, 8}, other),
      "ranks create different plans of a transform: variant 'PLT' on rank 0, 'PLN' on rank 1; all ranks must create "
      "the same plans in the same order");
}

TEST(Plan, refuses_what_cannot_be) {
  const auto alike = [](std::array<Index, 3> lengths, const PlanOptions& options) {
    return trouble(lengths, options, lengths, options);
  };
  expect_trouble(alike({8, 0, 8}, {}),
                 "an array of 8 x 0 x 8 points cannot be transformed: each length must be at least 1 and at most "
                 "268435455");
  expect_trouble(
      alike({8, 8, 8}, {.grid = {3, 2}}),
      "a rank grid of 3 x 2 has 6 places, and there are 2 ranks: row times column must be the number of ranks");
  expect_trouble(alike({8, 8, 8}, {.variant = "XYZ"}),
                 "there is no variant 'XYZ' of the exchange: choose one of PLB, PLN, PLT");
}

TEST(Plan, divides_arrays_so_that_each_point_is_on_one_rank) {
  for (const TransformGrid& grid :
       {TransformGrid{1, 4}, TransformGrid{2, 2}, TransformGrid{4, 1}, TransformGrid{3, 5}}) {
    std::atomic<Index> physical = 0;
    std::atomic<Index> spectral = 0;
    run_on_ranks({.ranks = grid.row * grid.column}, [&](LocalRank& rank) {
      const Plan plan{rank.messages(), rank.scheduler(), {5, 3, 8}, {.grid = grid, .effort = Effort::estimate}};
      physical += plan.physical().size();
      spectral += plan.spectral().size();
      EXPECT_EQ(plan.physical().box.extent(2), 8);
      EXPECT_EQ(plan.spectral().box.extent(0), 5);
      EXPECT_EQ(plan.grid(), grid);
      const PlanOptions same{.grid = grid};
      EXPECT_EQ(Plan::bytes_needed({5, 3, 8}, same, rank.rank_count(), rank.self()), plan.execution_bytes());
    });
    EXPECT_EQ(physical, 5 * 3 * 8);
    EXPECT_EQ(spectral, 5 * 3 * 5);
  }
}

TEST(Plan, puts_rows_on_nodes) {
  const auto grid_of = [](std::vector<std::uint32_t> nodes, std::array<Index, 3> lengths) {
    TransformGrid grid;
    std::atomic<std::uint64_t> leaving = 0;
    const auto ranks = static_cast<std::uint32_t>(nodes.size());
    run_on_ranks({.ranks = ranks}, [&](LocalRank& rank) {
      const Plan plan{rank.messages(), rank.scheduler(), lengths, {.effort = Effort::estimate, .nodes = nodes}};
      leaving += plan.bytes_leaving_node();
      if (rank.self() == Rank{0}) {
        grid = plan.grid();
      }
    });
    return std::pair{grid, leaving.load()};
  };
  using Answer = std::pair<TransformGrid, std::uint64_t>;
  EXPECT_EQ(grid_of({0, 0, 0, 0}, {8, 8, 8}), (Answer{{1, 4}, 0}));
  EXPECT_EQ(grid_of({0, 0, 1, 1}, {8, 8, 8}), (Answer{{2, 2}, 8 * 8 * 5 * 16 / 2}));
  EXPECT_EQ(grid_of({0, 1, 0, 1}, {8, 8, 8}).first, (TransformGrid{1, 4}));
  EXPECT_EQ(grid_of({0, 0, 0, 0}, {2, 8, 8}).first, (TransformGrid{2, 2})) << "no rank is without planes";
}

TEST(Plan, describes_itself) {
  run_on_ranks({.ranks = 2}, [](LocalRank& rank) {
    const Plan plan{
        rank.messages(), rank.scheduler(), {8, 8, 6}, {.effort = Effort::estimate, .pieces = 2, .nodes = {3, 5}}};
    EXPECT_EQ(plan.describe(),
              "real array of 8 x 8 x 6 points on 1 x 2 ranks of 2 nodes, this rank's row on one node\n"
              "exchanged by PLT (a message for each piece of a block, as tasks of one graph), 2 pieces a block\n"
              "a transform: 1024 bytes sent by this rank, 1024 of them leave the node; 3072 bytes of buffers\n");
  });
}

TEST(Plan, does_not_take_messages_of_another) {
  run_on_ranks({.ranks = 2}, [](LocalRank& rank) {
    const PlanOptions options{.effort = Effort::estimate};
    const auto claimed = [&] { return rank.messages().claim_comms(1)[0].value(); };
    const std::uint32_t before = claimed();
    const Plan first{rank.messages(), rank.scheduler(), {8, 8, 8}, options};
    const std::uint32_t between = claimed();
    const Plan second{rank.messages(), rank.scheduler(), {8, 8, 8}, options};
    EXPECT_EQ(between - before, 4U) << "all ranks, its row, its column";
    EXPECT_EQ(claimed() - between, 4U);
  });
}

}  // namespace
}  // namespace plait::fft::plan_test
