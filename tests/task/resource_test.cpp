// SPDX-License-Identifier: Apache-2.0
#include "plait/task/resource.hpp"

#include <array>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace plait::task {
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

TEST(Resource, all_or_none_are_locked) {
  Resource first;
  Resource second;
  const std::array<Resource*, 2> both{&first, &second};
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
}  // namespace plait::task
