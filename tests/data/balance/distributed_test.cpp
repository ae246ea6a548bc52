// SPDX-License-Identifier: Apache-2.0
// What ranks decide together over a network is what all parts decide in one process.
#include "plait/data/balance/distributed.hpp"

#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/random.hpp"
#include "plait/data/balance/balancers.hpp"
#include "plait/data/balance/objective.hpp"

#include "comm/collectives/many_ranks.hpp"

namespace plait::data::balance::distributed_test {
namespace {

using comm::Group;
using comm::test::ManyRanks;

Problem some_objects(std::uint32_t objects, std::uint32_t ranks, std::uint64_t seed) {
  Random random{seed};
  Problem problem{.rank_count = ranks};
  for (std::uint32_t i = 0; i < objects; ++i) {
    problem.objects.push_back({.id = ElementId{i},
                               .rank = Rank{static_cast<std::uint32_t>(random.below(ranks) * random.below(2))},
                               .load = random.unit(),
                               .bytes = 1});
  }
  return problem;
}

/// Lets all ranks of a network decide. Throws what the first rank threw.
class OverNetwork {
 public:
  OverNetwork(const Balancer& balancer, const Problem& problem, std::uint64_t seed)
      : balancer_{balancer}, problem_{problem}, ranks_{problem.rank_count, seed}, groups_{ranks_.groups()} {}

  void decide(std::uint32_t sequence) {
    std::vector<LocalProblem> locals = split(problem_);
    parts_.clear();
    for (std::uint32_t rank = 0; rank < problem_.rank_count; ++rank) {
      ranks_.stagger();
      parts_.push_back(std::make_unique<RemotePart>(balancer_, groups_[rank], std::move(locals[rank]), sequence));
    }
    std::vector<bool> is_done(parts_.size());
    for (int turns = 0; turns < 100'000; ++turns) {
      bool are_all = true;
      for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
        is_done[rank] = is_done[rank] || parts_[rank]->advance();
        are_all = are_all && is_done[rank];
      }
      if (are_all) {
        return;
      }
      ranks_.turn();
    }
    FAIL() << "the ranks do not come to a decision";
  }

  [[nodiscard]] Decision whole() {
    Decision all;
    std::vector<Placement> places;
    for (const auto& part : parts_) {
      Decision one = part->take();
      all.messages += one.messages;
      all.message_bytes += one.message_bytes;
      places.push_back(std::move(one.placement));
    }
    std::vector<std::size_t> next(places.size(), 0);
    for (const Object& object : problem_.objects) {
      const std::uint32_t rank = object.rank.value();
      all.placement.push_back(places[rank].at(next[rank]++));
    }
    return all;
  }

  [[nodiscard]] bool has_failed(std::uint32_t rank) { return ranks_[rank].failure().has_value(); }
  void turn() { ranks_.turn(); }

 private:
  const Balancer& balancer_;
  const Problem& problem_;
  ManyRanks ranks_;
  std::vector<Group> groups_;
  std::vector<std::unique_ptr<RemotePart>> parts_;
};

class OverNetworks : public testing::TestWithParam<std::string> {};

TEST_P(OverNetworks, ranks_decide_what_all_parts_decide_in_one_process) {
  const auto balancer = make_balancer(GetParam());
  for (const std::uint32_t ranks : {1U, 2U, 5U, 8U}) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, seed " << seed);
      const Problem problem = some_objects(6 * ranks, ranks, seed + 1);
      const auto* const distributed = dynamic_cast<const DistributedBalancer*>(balancer.get());
      const Decision expected =
          distributed != nullptr ? distributed->decide(problem) : Gathered{*balancer}.decide(problem);
      OverNetwork network{*balancer, problem, seed};
      for (std::uint32_t sequence = 0; sequence < 2; ++sequence) {
        ASSERT_NO_FATAL_FAILURE(network.decide(sequence));
        const Decision found = network.whole();
        EXPECT_EQ(found.placement, expected.placement);
        EXPECT_EQ(found.messages, expected.messages);
        EXPECT_EQ(found.message_bytes, expected.message_bytes);
      }
    }
  }
}

TEST_P(OverNetworks, a_load_that_is_no_amount_stops_all_ranks) {
  const auto balancer = make_balancer(GetParam());
  Problem problem = some_objects(20, 4, 1);
  problem.objects[7].load = std::nan("");
  OverNetwork network{*balancer, problem, 0};
  EXPECT_THROW(network.decide(0), Error);
  for (int turns = 0; turns < 100; ++turns) {
    network.turn();
  }
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    EXPECT_TRUE(network.has_failed(rank)) << "rank " << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(Some,
                         OverNetworks,
                         testing::Values("greedy", "hypercube", "hypercube:dimensions=1"),
                         [](const auto& name) { return "number_" + std::to_string(name.index); });

TEST(Distributed, works_on_hundreds_of_ranks_of_a_slow_network) {
  const auto balancer = make_balancer("hypercube");
  const Problem problem = some_objects(2000, 256, 3);
  OverNetwork network{*balancer, problem, 1};
  ASSERT_NO_FATAL_FAILURE(network.decide(0));
  EXPECT_EQ(network.whole().placement, balancer->decide(problem).placement);
}

TEST(Distributed, gathers_and_spreads_along_a_tree) {
  const auto greedy = make_balancer("greedy");
  const Problem problem = some_objects(100, 9, 1);
  const Decision decision = Gathered{*greedy}.decide(problem);
  EXPECT_EQ(decision.placement, greedy->decide(problem).placement);
  EXPECT_EQ(decision.rounds, 8U);
  EXPECT_EQ(decision.messages, 16U);
}

TEST(Distributed, carries_edges_to_a_balancer_that_wants_them) {
  /// Puts both ends of each edge on the rank of its first.
  class Joining final : public Balancer {
   public:
    [[nodiscard]] std::string name() const override { return "joining"; }
    [[nodiscard]] Decision decide(const Problem& problem) const override {
      Decision decision{.placement = present_placement(problem)};
      for (const Edge& edge : problem.edges) {
        decision.placement[edge.second] = decision.placement[edge.first];
      }
      return decision;
    }
  };
  Problem problem{.rank_count = 3, .weights = {.between_ranks = 1}};
  for (std::uint32_t i = 0; i < 4; ++i) {
    problem.objects.push_back({.id = ElementId{10 * i}, .rank = Rank{i % 3}, .load = 1});
  }
  problem.edges = {{0, 1, 5}, {0, 3, 7}};
  const Joining joining;
  EXPECT_EQ(Gathered{joining}.decide(problem).placement, joining.decide(problem).placement);
}

}  // namespace
}  // namespace plait::data::balance::distributed_test
