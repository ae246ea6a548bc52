// SPDX-License-Identifier: Apache-2.0
#include "plait/task/resource.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace plait::task::resource_test {
namespace {

TEST(Resource, is_locked_by_one_at_a_time) {
  Resource cell;
  EXPECT_TRUE(cell.try_lock());
  EXPECT_FALSE(cell.try_lock());
  cell.unlock();
  EXPECT_TRUE(cell.try_lock());
}

TEST(Resource, is_held_while_one_below_it_is_locked) {
  Resource root;
  Resource child{&root};
  Resource grandchild{&child};
  Resource sibling{&child};
  ASSERT_TRUE(grandchild.try_lock());
  EXPECT_FALSE(root.try_lock());
  EXPECT_FALSE(child.try_lock());
  EXPECT_TRUE(sibling.try_lock());
  grandchild.unlock();
  EXPECT_FALSE(child.try_lock()) << "the sibling still holds it";
  sibling.unlock();
  EXPECT_TRUE(child.try_lock());
}

TEST(Resource, is_not_available_while_one_above_it_is_locked) {
  Resource root;
  Resource child{&root};
  Resource grandchild{&child};
  ASSERT_TRUE(root.try_lock());
  EXPECT_FALSE(grandchild.try_lock());
  root.unlock();
  EXPECT_TRUE(grandchild.try_lock()) << "the failed attempt left nothing behind";
}

TEST(Resource, is_shared_by_many_but_not_beside_a_lock) {
  Resource cell;
  EXPECT_TRUE(cell.try_share());
  EXPECT_TRUE(cell.try_share());
  EXPECT_FALSE(cell.try_lock());
  cell.unshare();
  EXPECT_FALSE(cell.try_lock()) << "one is left";
  cell.unshare();
  EXPECT_TRUE(cell.try_lock());
  EXPECT_FALSE(cell.try_share());
}

TEST(Resource, a_share_forbids_locks_above_and_below_but_no_shares) {
  Resource root;
  Resource cell{&root};
  Resource child{&cell};
  Resource sibling{&root};
  ASSERT_TRUE(cell.try_share());
  EXPECT_FALSE(root.try_lock());
  EXPECT_FALSE(child.try_lock());
  EXPECT_TRUE(root.try_share());
  EXPECT_TRUE(child.try_share());
  EXPECT_FALSE(sibling.try_lock()) << "the root is shared";
  root.unshare();
  EXPECT_TRUE(sibling.try_lock());
  EXPECT_FALSE(root.try_share()) << "the sibling is locked";
  EXPECT_TRUE(cell.try_share()) << "the sibling is not of this branch";
}

TEST(Resource, kinds_of_one_object_exclude_nothing_of_each_other) {
  struct Cell {
    explicit Cell(Cell* parent = nullptr)
        : particles{parent == nullptr ? nullptr : &parent->particles},
          multipoles{parent == nullptr ? nullptr : &parent->multipoles} {}
    Resource particles;
    Resource multipoles;
  };
  Cell top;
  Cell leaf{&top};
  ASSERT_TRUE(leaf.particles.try_lock());
  EXPECT_TRUE(top.multipoles.try_lock());
  EXPECT_FALSE(top.particles.try_share());
}

/// The rules in the plainest way: a list of holders, which is searched for each question.
class Model {
 public:
  explicit Model(std::vector<std::size_t> parents) : parents_{std::move(parents)} {}

  [[nodiscard]] bool may_take(std::size_t node, Access access) const {
    return std::ranges::none_of(taken_, [&](const auto& other) {
      return (access == Access::exclusive || other.second == Access::exclusive) &&
             (is_within(node, other.first) || is_within(other.first, node));
    });
  }
  void take(std::size_t node, Access access) { taken_.emplace_back(node, access); }
  [[nodiscard]] const auto& taken() const { return taken_; }
  void release(std::size_t index) { taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(index)); }
  [[nodiscard]] bool is_within(std::size_t node, std::size_t other) const {
    while (node != other && node != parents_[node]) {
      node = parents_[node];
    }
    return node == other;
  }

 private:
  std::vector<std::size_t> parents_;  ///< Of each; a root is its own.
  std::vector<std::pair<std::size_t, Access>> taken_;
};

/// A forest in which each node is below one that was made before it.
struct Forest {
  Forest(std::size_t count, std::mt19937& random) {
    for (std::size_t node = 0; node < count; ++node) {
      const bool is_root = node == 0 || random() % 16 == 0;
      parents.push_back(is_root ? node : random() % node);
      nodes.push_back(std::make_unique<Resource>(is_root ? nullptr : nodes[parents.back()].get()));
    }
  }
  std::vector<std::size_t> parents;
  std::vector<std::unique_ptr<Resource>> nodes;
};

TEST(Resource, does_what_the_rules_say_in_any_order) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random{seed};
    const Forest forest{2 + seed, random};
    Model model{forest.parents};
    for (int step = 0; step < 3000; ++step) {
      if (!model.taken().empty() && random() % 2 == 0) {
        const std::size_t index = random() % model.taken().size();
        const auto [node, access] = model.taken()[index];
        Claim{forest.nodes[node].get(), access}.release();
        model.release(index);
        continue;
      }
      const std::size_t node = random() % forest.nodes.size();
      const Access access = random() % 3 == 0 ? Access::exclusive : Access::shared;
      const bool is_allowed = model.may_take(node, access);
      ASSERT_EQ(Claim(forest.nodes[node].get(), access).try_take(), is_allowed) << "seed " << seed << " step " << step;
      if (is_allowed) {
        model.take(node, access);
      }
    }
  }
}

TEST(Resource, tells_which_claims_no_task_can_have_together) {
  std::mt19937 random{3};
  const Forest forest{20, random};
  for (std::size_t first = 0; first < forest.nodes.size(); ++first) {
    for (std::size_t second = 0; second < forest.nodes.size(); ++second) {
      for (const Access access : {Access::exclusive, Access::shared}) {
        Model model{forest.parents};
        model.take(first, Access::shared);
        const Claim claim{forest.nodes[second].get(), access};
        EXPECT_EQ(claim.excludes({forest.nodes[first].get(), Access::shared}), !model.may_take(second, access));
      }
    }
  }
}

TEST(Resource, readers_see_no_half_done_change_of_a_writer) {
  // A thread that locks a node changes two plain numbers of all nodes below it; one that shares it finds them equal.
  std::mt19937 build{7};
  const Forest forest{24, build};
  const Model below{forest.parents};
  struct Twice {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
  };
  std::vector<Twice> numbers(forest.nodes.size());
  std::array<std::uint64_t, 4> written{};
  std::array<std::uint64_t, 4> torn{};
  const auto work = [&](unsigned thread) {
    std::mt19937 random{thread};
    for (int i = 0; i < 5'000; ++i) {
      const std::size_t node = random() % forest.nodes.size();
      const Claim claim{forest.nodes[node].get(), random() % 2 == 0 ? Access::exclusive : Access::shared};
      if (!claim.try_take()) {
        continue;
      }
      for (std::size_t other = 0; other < numbers.size(); ++other) {
        if (!below.is_within(other, node)) {
          continue;
        }
        if (claim.access == Access::exclusive) {
          ++numbers[other].first;
          ++numbers[other].second;
          ++written[thread];
        } else {
          torn[thread] += numbers[other].first != numbers[other].second ? 1 : 0;
        }
      }
      claim.release();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned thread = 0; thread < written.size(); ++thread) {
      threads.emplace_back(work, thread);
    }
  }
  std::uint64_t sum = 0;
  for (const Twice& number : numbers) {
    sum += number.first;
    EXPECT_EQ(number.first, number.second);
  }
  EXPECT_EQ(sum, written[0] + written[1] + written[2] + written[3]);
  EXPECT_EQ(torn, (std::array<std::uint64_t, 4>{}));
  for (std::size_t node = 0; node < forest.nodes.size(); ++node) {
    EXPECT_TRUE(forest.nodes[node]->try_lock()) << "something is left of node " << node;
    forest.nodes[node]->unlock();
  }
}

TEST(Resource, all_or_none_are_locked) {
  Resource first;
  Resource second;
  const std::array<Claim, 2> both{&first, &second};
  ASSERT_TRUE(second.try_lock());
  EXPECT_FALSE(try_lock_all(both));
  EXPECT_FALSE(first.is_locked());
  second.unlock();
  EXPECT_TRUE(try_lock_all(both));
}

TEST(Resource, excludes_threads_that_share_a_branch_of_the_tree) {
  // A binary tree; each leaf counts, unprotected, what its lockers do, and a locked node owns all counters below it.
  constexpr std::size_t depth = 4;
  std::vector<std::unique_ptr<Resource>> nodes(1);
  nodes.push_back(std::make_unique<Resource>());
  for (std::size_t i = 2; i < (1U << depth); ++i) {
    nodes.push_back(std::make_unique<Resource>(nodes[i / 2].get()));
  }
  std::vector<int> counters(nodes.size(), 0);
  std::array<int, 4> done{};
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < done.size(); ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random{t};
        for (int i = 0; i < 20'000; ++i) {
          const std::size_t node = 1 + random() % (nodes.size() - 1);
          if (!nodes[node]->try_lock()) {
            continue;
          }
          std::size_t leaf = node;
          while (leaf * 2 < nodes.size()) {
            leaf *= 2;
          }
          ++counters[leaf];
          ++done[t];
          nodes[node]->unlock();
        }
      });
    }
  }
  int sum = 0;
  for (const int counter : counters) {
    sum += counter;
  }
  EXPECT_EQ(sum, done[0] + done[1] + done[2] + done[3]);
  EXPECT_TRUE(nodes[1]->try_lock()) << "all holds are gone";
}

}  // namespace
}  // namespace plait::task::resource_test
