// SPDX-License-Identifier: Apache-2.0
// What every balancer of the table must hold, on problems of all kinds.
#include "plait/data/balance/balancers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/base/random.hpp"
#include "plait/data/balance/detail/load_order.hpp"
#include "plait/data/balance/objective.hpp"

namespace plait::data::balance::balancers_test {
namespace {

/// Objects of loads up to 1 on random ranks, at places of a square.
Problem some_objects(std::uint32_t objects, std::uint32_t ranks, std::uint64_t seed) {
  Random random{seed};
  Problem problem{.rank_count = ranks};
  for (std::uint32_t i = 0; i < objects; ++i) {
    problem.objects.push_back({.id = ElementId{i},
                               .rank = Rank{static_cast<std::uint32_t>(random.below(ranks))},
                               .load = random.unit(),
                               .bytes = 1 + static_cast<double>(random.below(10)),
                               .position = {random.unit(), random.unit(), 0}});
  }
  return problem;
}

struct Case {
  std::string name;
  Problem problem;
};

/// The i-th object of a ring talks to the next.
void join_ring(Problem& problem, double bytes) {
  const auto count = static_cast<std::uint32_t>(problem.objects.size());
  for (std::uint32_t i = 0; i + 1 < count; ++i) {
    problem.edges.push_back({i, i + 1, bytes});
  }
}

std::vector<Case> cases() {
  std::vector<Case> all{{"no objects", some_objects(0, 4, 1)},
                        {"one rank", some_objects(20, 1, 2)},
                        {"one object on one rank", some_objects(1, 1, 3)},
                        {"more ranks than objects", some_objects(3, 16, 4)},
                        {"many objects", some_objects(500, 12, 5)},
                        {"a power of two", some_objects(300, 16, 6)}};
  const auto add = [&](std::string name, std::uint64_t seed, const std::function<void(Problem&)>& change) {
    Problem problem = some_objects(60, 7, seed);
    change(problem);
    all.push_back({std::move(name), std::move(problem)});
  };
  add("all on one rank", 10, [](Problem& problem) {
    for (Object& object : problem.objects) {
      object.rank = Rank{2};
    }
  });
  add("one heavier than all others", 11, [](Problem& problem) { problem.objects[17].load = 1000; });
  add("no loads", 12, [](Problem& problem) {
    for (Object& object : problem.objects) {
      object.load = 0;
    }
  });
  add("equal loads", 13, [](Problem& problem) {
    for (Object& object : problem.objects) {
      object.load = 1;
    }
  });
  add("some that stay", 14, [](Problem& problem) {
    for (std::size_t i = 0; i < problem.objects.size(); i += 3) {
      problem.objects[i].is_migratable = false;
    }
  });
  add("all stay", 15, [](Problem& problem) {
    for (Object& object : problem.objects) {
      object.is_migratable = false;
    }
  });
  add("a drowned rank", 16, [](Problem& problem) { problem.background = {0, 0, 0, 50, 0, 1, 2}; });
  add("little memory", 17, [](Problem& problem) { problem.memory_max = 60; });
  add("less memory than there is", 18, [](Problem& problem) { problem.memory_max = 12; });
  add("edges that cost", 19, [](Problem& problem) {
    join_ring(problem, 3);
    problem.node_of_rank = {0, 0, 0, 1, 1, 2, 2};
    problem.weights = {.between_ranks = 0.01, .between_nodes = 0.05, .moved = 0};
  });
  add("moves that cost", 20, [](Problem& problem) { problem.weights.moved = 0.02; });
  add("everything at once", 21, [](Problem& problem) {
    join_ring(problem, 2);
    problem.weights = {.between_ranks = 0.01, .between_nodes = 0.05, .moved = 0.005};
    problem.node_of_rank = {0, 0, 0, 1, 1, 2, 2};
    problem.background = {1, 0, 2, 0, 0, 3, 0};
    problem.memory_max = 80;
    problem.objects[5].is_migratable = false;
  });
  return all;
}

std::vector<double> bytes_by_rank(const Problem& problem, const Placement& placement) {
  std::vector<double> bytes(problem.rank_count, 0.0);
  for (std::size_t i = 0; i < placement.size(); ++i) {
    bytes[placement[i].value()] += problem.objects[i].bytes;
  }
  return bytes;
}

class EveryBalancer : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Balancer> balancer = make_balancer(GetParam());
};

TEST_P(EveryBalancer, keeps_to_what_is_possible_and_makes_nothing_worse) {
  for (const auto& [name, problem] : cases()) {
    SCOPED_TRACE(name);
    const Decision decision = balancer->decide(problem);
    ASSERT_EQ(decision.placement.size(), problem.objects.size());
    for (std::size_t i = 0; i < problem.objects.size(); ++i) {
      ASSERT_LT(decision.placement[i].value(), problem.rank_count);
      if (!problem.objects[i].is_migratable) {
        EXPECT_EQ(decision.placement[i], problem.objects[i].rank) << "object " << i << " may not move";
      }
    }
    const Placement now = present_placement(problem);
    EXPECT_LE(score(problem, decision.placement).cost_max, score(problem, now).cost_max * (1 + 1e-12));
    const std::vector<double> before = bytes_by_rank(problem, now);
    const std::vector<double> after = bytes_by_rank(problem, decision.placement);
    for (std::size_t rank = 0; rank < before.size(); ++rank) {
      EXPECT_LE(after[rank], std::max(before[rank], problem.memory_max)) << "memory of rank " << rank;
    }
  }
}

TEST_P(EveryBalancer, decides_the_same_whenever_it_is_asked) {
  for (const auto& [name, problem] : cases()) {
    SCOPED_TRACE(name);
    const Decision first = balancer->decide(problem);
    const Decision again = make_balancer(GetParam())->decide(problem);
    EXPECT_EQ(first.placement, again.placement);
    EXPECT_EQ(first.messages, again.messages);
  }
}

TEST_P(EveryBalancer, leaves_what_is_balanced_alone) {
  Problem problem = some_objects(40, 8, 1);
  for (std::uint32_t i = 0; i < 40; ++i) {
    problem.objects[i].load = 1;
    problem.objects[i].rank = Rank{i / 5};
  }
  EXPECT_EQ(balancer->decide(problem).placement, present_placement(problem));
}

TEST_P(EveryBalancer, refuses_loads_that_are_no_amounts) {
  for (const double wrong : {std::nan(""), -1.0, std::numeric_limits<double>::infinity()}) {
    Problem problem = some_objects(20, 4, 1);
    problem.objects[7].load = wrong;
    try {
      (void)balancer->decide(problem);
      FAIL() << wrong << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_argument);
      EXPECT_NE(std::string{error.what()}.find("object 7"), std::string::npos) << error.what();
    }
  }
}

/// The least of the largest loads over all placements. Cost: ranks^objects, less what is cut off.
double optimum(const Problem& problem) {
  double best = std::numeric_limits<double>::infinity();
  std::vector<double> loads(problem.rank_count, 0.0);
  const std::function<void(std::size_t)> place = [&](std::size_t object) {
    if (object == problem.objects.size()) {
      best = std::min(best, std::ranges::max(loads));
      return;
    }
    for (double& load : loads) {
      const double before = load;
      load += problem.objects[object].load;
      if (load < best) {
        place(object + 1);
      }
      load = before;
      if (before == 0) {
        break;  // other empty ranks are alike
      }
    }
  };
  place(0);
  return best;
}

/// Over small problems, the largest load over the least possible, less 1.
struct Miss {
  double mean = 0;
  double worst = 0;
};
Miss miss_of(const std::string& name) {
  const auto balancer = make_balancer(name);
  constexpr int seeds = 60;
  Miss miss;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Problem problem = some_objects(10, 3, seed);
    const double one = score(problem, balancer->decide(problem).placement).load_max / optimum(problem) - 1;
    miss.mean += one / seeds;
    miss.worst = std::max(miss.worst, one);
  }
  return miss;
}

TEST(Optimum, is_missed_by_little) {
  for (const auto& [name, most] :
       std::vector<std::pair<std::string, double>>{{"greedy", 0.04}, {"refine", 0.001}, {"hypercube", 0.01}}) {
    EXPECT_LT(miss_of(name).mean, most) << name;
  }
  EXPECT_LE(miss_of("refine").worst, 1e-3 + 1e-9) << "its tolerance: it tries all placements";
}

TEST(Few, objects_move_where_little_is_wrong) {
  Problem problem = some_objects(1600, 16, 7);
  const Placement even = make_balancer("greedy")->decide(problem).placement;
  for (std::size_t i = 0; i < even.size(); ++i) {
    problem.objects[i].rank = even[i];
    problem.objects[i].load *= even[i].value() % 4 == 0 ? 1.05 : 1;  // a quarter of the ranks has 4 % too much
  }
  for (const auto& [name, moved_max] :
       std::vector<std::pair<std::string, std::uint64_t>>{{"refine", 24}, {"two_level", 24}, {"hypercube", 24}}) {
    const Score after = score(problem, make_balancer(name)->decide(problem).placement);
    EXPECT_LT(after.imbalance(), 0.003) << name;
    EXPECT_LE(after.objects_moved, moved_max) << name;
    EXPECT_GT(after.objects_moved, 0U) << name;
  }
}

TEST(LoadOrder, sorts_as_others_do_and_knows_the_first) {
  Random random{3};
  for (const std::uint32_t count : {0U, 1U, 200U, 3000U}) {
    std::vector<detail::LoadOf> loads;
    for (std::uint32_t i = 0; i < count; ++i) {
      const double load = random.happens(0.2) ? static_cast<double>(random.below(3)) : std::ldexp(random.unit(), -300);
      loads.push_back({load, i});
    }
    std::vector<detail::LoadOf> expected = loads;
    std::ranges::stable_sort(expected, std::greater<>{}, &detail::LoadOf::load);
    detail::sort_heaviest_first(loads);
    ASSERT_TRUE(std::ranges::equal(loads, expected, {}, &detail::LoadOf::number, &detail::LoadOf::number)) << count;
  }
  std::vector<double> loads(37, 0.0);
  detail::RankHeap<std::less<>> least{loads};
  detail::RankHeap<std::greater<>> most{loads};
  for (int change = 0; change < 2000; ++change) {
    const auto rank = static_cast<std::uint32_t>(random.below(loads.size()));
    loads[rank] = static_cast<double>(random.below(50));
    least.set(rank, loads[rank]);
    most.set(rank, loads[rank]);
    ASSERT_EQ(least.top(), std::ranges::min_element(loads) - loads.begin());
    ASSERT_EQ(most.top(), std::ranges::max_element(loads) - loads.begin());
  }
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const BalancerEntry& entry : balancer_entries()) {
    names.emplace_back(entry.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryBalancer, testing::ValuesIn(all_names()), [](const auto& name) {
  std::string plain = name.param;
  std::ranges::replace_if(plain, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return plain;
});

std::string sentence_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Balancers, are_found_by_name_and_say_what_there_is) {
  EXPECT_EQ(make_balancer("greedy")->name(), "greedy");
  EXPECT_EQ(make_balancer("two-level")->name(), make_balancer("two_level")->name());
  EXPECT_NE(sentence_of([] { (void)make_balancer("gready"); }).find("greedy"), std::string::npos);
  EXPECT_NE(sentence_of([] { (void)make_balancer("greedy:fast=1"); }).find("fast"), std::string::npos);
  EXPECT_NE(sentence_of([] { (void)make_balancer("greedy:fast"); }).find("option=value"), std::string::npos);
}

/// A balancer of this test: moves everything to one rank.
class AllOnOne final : public Balancer {
 public:
  explicit AllOnOne(Settings& settings) : rank_{settings.count("rank", 0)} {}
  [[nodiscard]] std::string name() const override { return "all_on_one"; }
  [[nodiscard]] Decision decide(const Problem& problem) const override {
    return {.placement = Placement(problem.objects.size(), Rank{rank_})};
  }

 private:
  std::uint32_t rank_;
};

TEST(Balancers, are_a_table_that_takes_a_new_line) {
  std::vector<BalancerEntry> table{balancer_entries().begin(), balancer_entries().end()};
  table.push_back({"all_on_one", "everything on one rank", [](Settings& settings) -> std::unique_ptr<Balancer> {
                     return std::make_unique<AllOnOne>(settings);
                   }});
  const Problem problem = some_objects(5, 3, 1);
  EXPECT_EQ(make_balancer("all_on_one:rank=2", table)->decide(problem).placement, Placement(5, Rank{2}));
  EXPECT_EQ(make_balancer("greedy", table)->name(), "greedy");
  EXPECT_NE(sentence_of([&] { (void)make_balancer("all_on_one:size=2", table); }).find("size"), std::string::npos);
  EXPECT_NE(sentence_of([&] { (void)make_balancer("none", table); }).find("all_on_one"), std::string::npos);
}

TEST(Settings, give_what_was_written_or_say_why_not) {
  Settings settings{"some", "tolerance=0.25,rounds=4,order=lightest"};
  EXPECT_DOUBLE_EQ(settings.number("tolerance", 1), 0.25);
  EXPECT_DOUBLE_EQ(settings.number("weight", 7), 7);
  EXPECT_EQ(settings.count("rounds", 1), 4U);
  constexpr std::array<std::string_view, 2> orders{"heaviest", "lightest"};
  EXPECT_EQ(settings.choice("order", orders), 1U);
  EXPECT_NO_THROW(settings.expect_all_asked());
  for (const char* wrong :
       {"tolerance=", "tolerance=x", "tolerance=-1", "tolerance=nan", "tolerance=1e", "=1", "a=1,a=2"}) {
    EXPECT_NE(sentence_of([&] { (void)Settings{"some", wrong}.number("tolerance", 1); }), "") << wrong;
  }
  EXPECT_NE(sentence_of([&] { (void)Settings("some", "rounds=0").count("rounds", 1, 1); }), "");
  EXPECT_NE(sentence_of([&] { (void)Settings("some", "order=any").choice("order", orders); }), "");
}

}  // namespace
}  // namespace plait::data::balance::balancers_test
