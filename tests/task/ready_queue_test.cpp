// SPDX-License-Identifier: Apache-2.0
#include "plait/task/ready_queue.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace plait::task {
namespace {

using detail::Node;

TEST(ReadyQueue, pops_the_heaviest_first_and_equal_ones_in_order_of_arrival) {
  ReadyQueue queue;
  Node light{TaskKind{0}};
  Node heavy{TaskKind{0}};
  Node as_light{TaskKind{0}};
  light.weight_ns = as_light.weight_ns = 1;
  heavy.weight_ns = 2;
  queue.push(light);
  queue.push(heavy);
  queue.push(as_light);
  EXPECT_EQ(queue.pop(), &heavy);
  EXPECT_EQ(queue.pop(), &light);
  EXPECT_EQ(queue.steal(), &as_light);
  EXPECT_EQ(queue.pop(), nullptr);
}

TEST(ReadyQueue, orders_any_weights_as_a_sort_does) {
  std::mt19937 random{1};
  for (int round = 0; round < 100; ++round) {
    ReadyQueue queue;
    std::deque<Node> nodes;
    std::vector<Node*> expected;
    for (unsigned i = 0; i < 100; ++i) {
      nodes.emplace_back(TaskKind{0}).weight_ns = random() % 2 == 0 ? 1000.0 - i : static_cast<double>(random() % 1000);
      queue.push(nodes.back());
      expected.push_back(&nodes.back());
      if (random() % 4 == 0) {
        std::ranges::stable_sort(expected, std::ranges::greater{}, &Node::weight_ns);
        ASSERT_EQ(queue.pop(), expected.front());
        expected.erase(expected.begin());
      }
    }
    std::ranges::stable_sort(expected, std::ranges::greater{}, &Node::weight_ns);
    for (Node* const node : expected) {
      ASSERT_EQ(queue.pop(), node);
    }
    ASSERT_EQ(queue.size(), 0U);
  }
}

TEST(ReadyQueue, passes_over_a_task_whose_resource_is_taken) {
  ReadyQueue queue;
  Resource cell;
  Node blocked{TaskKind{0}};
  blocked.weight_ns = 10;
  blocked.resources = {&cell};
  Node free{TaskKind{0}};
  free.weight_ns = 1;
  queue.push(blocked);
  queue.push(free);
  ASSERT_TRUE(cell.try_lock());
  EXPECT_EQ(queue.pop(), &free);
  EXPECT_EQ(queue.pop(), nullptr);
  EXPECT_EQ(queue.size(), 1U);
  cell.unlock();
  EXPECT_EQ(queue.pop(), &blocked);
  EXPECT_TRUE(cell.is_locked()) << "it comes with its resources locked";
}

TEST(ReadyQueue, lets_a_task_sink_that_could_not_be_locked) {
  ReadyQueue queue;
  Resource cell;
  Node blocked{TaskKind{0}};
  blocked.weight_ns = 3;
  blocked.resources = {&cell};
  queue.push(blocked);
  ASSERT_TRUE(cell.try_lock());
  ASSERT_EQ(queue.pop(), nullptr);
  cell.unlock();
  Node other{TaskKind{0}};
  other.weight_ns = 2;
  queue.push(other);
  EXPECT_EQ(queue.pop(), &other);
}

}  // namespace
}  // namespace plait::task
