// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "record/run.hpp"

namespace plait::record::test::collectives_test {
namespace {

using trace::CallClass;
using trace::CallEvent;

struct Expected {
  const char* function;
  std::uint64_t given;  ///< In integers of 4 bytes.
  std::uint64_t got;
  std::uint32_t root = trace::nothing;
};

class Collectives : public testing::TestWithParam<int> {};

TEST_P(Collectives, tell_what_each_rank_gives_and_gets) {
  const trace::RunTrace run = recorded("collectives", GetParam());
  const auto n = static_cast<std::uint32_t>(GetParam());
  ASSERT_EQ(run.ranks.size(), n);
  const std::uint32_t sum = n * (n + 1) / 2;
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    const bool is_first = rank == 0;
    const bool is_last = rank == n - 1;
    const std::vector<Expected> expected = {
        {"MPI_Barrier", 0, 0},
        {"MPI_Bcast", is_last ? 10U : 0U, is_last ? 0U : 10U, n - 1},
        {"MPI_Gather", 5, is_first ? 5 * n : 0, 0},
        {"MPI_Gatherv", rank + 1, is_first ? sum : 0, 0},
        {"MPI_Scatter", is_first ? 6 * n : 0, 6, 0},
        {"MPI_Scatterv", is_first ? sum : 0, rank + 1, 0},
        {"MPI_Allgather", 7, 7 * n},
        {"MPI_Allgatherv", rank + 1, sum},
        {"MPI_Alltoall", 8 * n, 8 * n},
        {"MPI_Alltoallv", sum, (rank + 1) * n},
        {"MPI_Reduce", 9, is_last ? 9U : 0U, n - 1},
        {"MPI_Allreduce", 11, 11},
        {"MPI_Reduce_scatter_block", 12 * n, 12},
        {"MPI_Reduce_scatter", sum, rank + 1},
        {"MPI_Scan", 13, 13},
        {"MPI_Iallreduce", 14, 14},
    };
    std::uint32_t place = 0;
    for (const Expected& one : expected) {
      SCOPED_TRACE(one.function);
      const std::vector<CallEvent> calls = calls_of(run.ranks[rank], one.function);
      ASSERT_EQ(calls.size(), 1U);
      EXPECT_EQ(calls[0].bytes_given, 4 * one.given);
      EXPECT_EQ(calls[0].bytes_got, 4 * one.got);
      EXPECT_EQ(calls[0].peer, one.root);
      EXPECT_EQ(calls[0].communicator, 0U);
      EXPECT_EQ(calls[0].count, place++) << "the same place in the order of collectives on all ranks";
    }
  }
}

TEST_P(Collectives, tell_the_shares_of_vector_collectives_and_of_neighbours) {
  const trace::RunTrace run = recorded("collectives", GetParam());
  const auto n = static_cast<std::uint32_t>(GetParam());
  ASSERT_EQ(run.ranks.size(), n);
  const trace::RankTrace& rank = run.ranks[0];
  std::vector<std::uint64_t> shares(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    shares[i] = 4 * (i + 1);
  }
  EXPECT_EQ(rank.shares.at(calls_of(rank, "MPI_Alltoallv").at(0).number), shares);
  EXPECT_EQ(rank.shares.at(calls_of(rank, "MPI_Scatterv").at(0).number), shares);
  EXPECT_FALSE(rank.shares.contains(calls_of(rank, "MPI_Alltoall").at(0).number));

  // To both sides of the ring; with one or two ranks these are the same.
  const CallEvent neighbours = calls_of(rank, "MPI_Neighbor_alltoall").at(0);
  EXPECT_EQ(neighbours.bytes_given, 2 * 60U);
  EXPECT_EQ(neighbours.bytes_got, 2 * 60U);
  const std::vector<std::uint64_t>& to = rank.shares.at(neighbours.number);
  std::vector<std::uint64_t> expected(n);
  expected[1 % n] += 60;
  expected[n - 1] += 60;
  ASSERT_LE(to.size(), n);
  EXPECT_TRUE(std::ranges::equal(to, std::span{expected}.first(to.size())));
}

TEST(BegunCollectives, last_from_their_call_to_when_the_program_is_told) {
  const trace::RunTrace run = recorded("collectives", 2);
  ASSERT_EQ(run.ranks.size(), 2U);
  const trace::RankTrace& rank = run.ranks[1];
  const CallEvent begun = calls_of(rank, "MPI_Iallreduce").at(0);
  const CallEvent wait = calls_of(rank, "MPI_Wait").at(0);
  EXPECT_EQ(begun.what, CallClass::begins_collective);
  EXPECT_EQ(wait.count, 1U);
  const auto whole =
      std::ranges::find_if(rank.calls, [](const auto& call) { return call.event.what == CallClass::begun_collective; });
  ASSERT_NE(whole, rank.calls.end());
  EXPECT_EQ(whole->event.number, begun.number);
  EXPECT_EQ(whole->event.start, begun.start);
  EXPECT_EQ(whole->event.end, wait.end);
  EXPECT_EQ(whole->event.bytes_given, 56U);
}

/// As "gives gets", of a call: "g" for gaps, "-" for none.
std::string layout(const trace::RankTrace& rank, const CallEvent& call) {
  const auto known = std::ranges::find(rank.collective_layouts, call.number, &trace::CollectiveLayoutEvent::call);
  if (known == rank.collective_layouts.end()) {
    return "--";
  }
  return {known->has_gaps_given ? 'g' : '-', known->has_gaps_got ? 'g' : '-'};
}

TEST_P(Collectives, record_whose_data_has_gaps) {
  const trace::RunTrace run = recorded("collectives", GetParam());
  ASSERT_EQ(run.ranks.size(), static_cast<std::size_t>(GetParam()));
  for (const trace::RankTrace& rank : run.ranks) {
    const bool is_root = rank.rank == Rank{0};
    const std::vector<std::pair<const char*, const char*>> expected = {
        {"MPI_Ibcast", is_root ? "g-" : "-g"},
        {"MPI_Igather", "g-"},
        {"MPI_Iscatterv", is_root ? "g-" : "--"},
        {"MPI_Iallgather", "-g"},
        {"MPI_Ialltoallw", "g-"},
        {"MPI_Ialltoall", "--"},
        {"MPI_Ineighbor_alltoall", "gg"},
        {"MPI_Allreduce", "--"},
    };
    for (const auto& [function, gaps] : expected) {
      EXPECT_EQ(layout(rank, calls_of(rank, function).at(0)), gaps) << function << " on rank " << rank.rank.value();
    }
  }
}

// Of MPI 4.
TEST(PersistentCollectives, record_gaps_and_shares_at_each_start) {
  const trace::RunTrace run = recorded("collectives", 2);
  ASSERT_EQ(run.ranks.size(), 2U);
  const trace::RankTrace& rank = run.ranks[0];
  if (calls_of(rank, "MPI_Bcast_init").empty()) {
    GTEST_SKIP() << "this MPI has no persistent collectives";
  }
  const std::vector<CallEvent> starts = calls_of(rank, "MPI_Start");
  ASSERT_EQ(starts.size(), 3U);
  EXPECT_EQ(layout(rank, starts[0]), "g-");
  EXPECT_EQ(layout(rank, starts[1]), "g-");
  EXPECT_EQ(layout(rank, starts[2]), "--");
  const std::vector<std::uint64_t> both_ways{0, 64};
  EXPECT_EQ(rank.shares.at(starts[2].number), both_ways);
}

INSTANTIATE_TEST_SUITE_P(ranks, Collectives, testing::Values(1, 2, 4));

}  // namespace
}  // namespace plait::record::test::collectives_test
