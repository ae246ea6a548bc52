// SPDX-License-Identifier: Apache-2.0
#include "plait/testing/local_rank.hpp"

#include <atomic>
#include <stdexcept>

#include <gtest/gtest.h>

#include "plait/task/graph.hpp"

namespace plait::test::local_rank_test {
namespace {

TEST(LocalRank, runs_graphs_that_send_to_other_ranks) {
  std::atomic<int> sum = 0;
  run_on_ranks({.ranks = 3, .network = net::SimOptions{.seed = 4}}, {.worker_count = 2}, [&](LocalRank& rank) {
    const Rank next{(rank.self().value() + 1) % rank.rank_count()};
    const Rank before{(rank.self().value() + 2) % rank.rank_count()};
    const Bytes mine(1, std::byte{static_cast<unsigned char>(rank.self().value() + 1)});
    Bytes theirs;
    task::Graph graph;
    graph.send("send", {next, Tag{1}}, [&] { return std::span<const std::byte>{mine}; });
    task::Task receive = graph.receive("receive", {before, Tag{1}}, theirs);
    graph.task("add", [&] { sum += static_cast<int>(theirs[0]); }).after(receive);
    rank.scheduler().run(graph);
  });
  EXPECT_EQ(sum, 1 + 2 + 3);
}

TEST(LocalRank, reports_the_error_of_each_rank) {
  const auto errors = errors_on_ranks({.ranks = 3}, {}, [](LocalRank& rank) {
    if (rank.self() != Rank{1}) {
      throw std::runtime_error{"rank " + std::to_string(rank.self().value())};
    }
  });
  EXPECT_EQ(errors, (std::vector<std::string>{"rank 0", "", "rank 2"}));
  EXPECT_THROW(run_on_ranks({}, [](LocalRank&) { throw std::runtime_error{"out"}; }), std::runtime_error);
}

}  // namespace
}  // namespace plait::test::local_rank_test
