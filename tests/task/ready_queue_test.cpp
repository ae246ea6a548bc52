// SPDX-License-Identifier: Apache-2.0
#include "plait/task/detail/ready_queue.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace plait::task::ready_queue_test {
namespace {

using detail::Node;
using detail::ReadyQueue;

Node* pop(ReadyQueue& queue) {
  Node* node = nullptr;
  return queue.take(std::span{&node, 1}, 0) == 1 ? node : nullptr;
}

Node* steal(ReadyQueue& queue) {
  Node* node = nullptr;
  return queue.steal(std::span{&node, 1}, 0) == 1 ? node : nullptr;
}

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
  EXPECT_EQ(pop(queue), &heavy);
  EXPECT_EQ(pop(queue), &light);
  EXPECT_EQ(steal(queue), &as_light);
  EXPECT_EQ(pop(queue), nullptr);
}

TEST(ReadyQueue, orders_any_weights_as_a_sort_does) {
  std::mt19937 random{1};
  for (int round = 0; round < 100; ++round) {
    ReadyQueue queue;
    std::deque<Node> nodes;
    std::vector<Node*> expected;
    for (unsigned i = 0; i < 100; ++i) {
      nodes.emplace_back(TaskKind{0}).weight_ns = static_cast<float>(random() % 2 == 0 ? 1000 - i : random() % 1000);
      queue.push(nodes.back());
      expected.push_back(&nodes.back());
      if (random() % 4 == 0) {
        std::ranges::stable_sort(expected, std::ranges::greater{}, &Node::weight_ns);
        ASSERT_EQ(pop(queue), expected.front());
        expected.erase(expected.begin());
      }
    }
    std::ranges::stable_sort(expected, std::ranges::greater{}, &Node::weight_ns);
    for (Node* const node : expected) {
      ASSERT_EQ(pop(queue), node);
    }
    ASSERT_EQ(queue.size(), 0U);
  }
}

TEST(ReadyQueue, passes_over_a_task_whose_resource_is_taken) {
  ReadyQueue queue;
  Resource cell;
  Node blocked{TaskKind{0}};
  blocked.weight_ns = 10;
  blocked.claims = std::make_unique<std::vector<Claim>>(1, &cell);
  blocked.has_claims = true;
  Node free{TaskKind{0}};
  free.weight_ns = 1;
  queue.push(blocked);
  queue.push(free);
  ASSERT_TRUE(cell.try_lock());
  EXPECT_EQ(pop(queue), &free);
  EXPECT_EQ(pop(queue), nullptr);
  EXPECT_EQ(queue.size(), 1U);
  cell.unlock();
  EXPECT_EQ(pop(queue), &blocked);
  EXPECT_TRUE(cell.is_locked()) << "it comes with its resources locked";
}

TEST(ReadyQueue, lets_a_task_sink_that_could_not_be_locked) {
  ReadyQueue queue;
  Resource cell;
  Node blocked{TaskKind{0}};
  blocked.weight_ns = 3;
  blocked.claims = std::make_unique<std::vector<Claim>>(1, &cell);
  blocked.has_claims = true;
  queue.push(blocked);
  ASSERT_TRUE(cell.try_lock());
  ASSERT_EQ(pop(queue), nullptr);
  cell.unlock();
  Node other{TaskKind{0}};
  other.weight_ns = 2;
  queue.push(other);
  EXPECT_EQ(pop(queue), &other);
}

TEST(ReadyQueue, gives_several_at_once_only_of_tasks_known_to_be_short) {
  ReadyQueue queue;
  std::deque<Node> nodes;
  for (const float cost : {10.0F, 10.0F, 5'000.0F, 10.0F, 0.0F, 10.0F}) {
    nodes.emplace_back(TaskKind{0}).cost_ns = cost;
    queue.push(nodes.back());
  }
  std::array<Node*, 4> room{};
  EXPECT_EQ(queue.take(room, 1'000), 3U) << "a long one ends the batch";
  EXPECT_EQ(room[2], &nodes[2]);
  EXPECT_EQ(queue.take(room, 1'000), 2U) << "as does one that is not known";
  EXPECT_EQ(queue.take(room, 1'000), 1U);
  EXPECT_TRUE(queue.is_empty());
}

TEST(ReadyQueue, gives_a_thief_half) {
  ReadyQueue queue;
  std::deque<Node> nodes;
  for (int i = 0; i < 9; ++i) {
    nodes.emplace_back(TaskKind{0}).cost_ns = 1'000;
    queue.push(nodes.back());
  }
  std::array<Node*, 16> room{};
  EXPECT_TRUE(queue.is_worth_stealing());
  EXPECT_EQ(queue.steal(room, 2'000), 5U);
  EXPECT_EQ(queue.take(room, 2'000), 4U);
  EXPECT_FALSE(queue.is_worth_stealing());
}

TEST(ReadyQueue, puts_what_others_send_in_order_of_arrival) {
  ReadyQueue queue;
  std::deque<Node> nodes;
  for (int i = 0; i < 3; ++i) {
    queue.send(nodes.emplace_back(TaskKind{0}));
  }
  EXPECT_FALSE(queue.is_empty());
  for (Node& node : nodes) {
    EXPECT_EQ(pop(queue), &node);
  }
}

TEST(ReadyQueue, puts_what_leads_to_a_send_first) {
  ReadyQueue queue;
  Node heavy{TaskKind{0}};
  heavy.weight_ns = 1e9F;
  Node awaited{TaskKind{0}};
  awaited.leads_to_send = true;
  queue.push(heavy);
  queue.push(awaited);
  EXPECT_EQ(pop(queue), &awaited);
}

}  // namespace
}  // namespace plait::task::ready_queue_test
