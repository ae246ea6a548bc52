// SPDX-License-Identifier: Apache-2.0
#include "plait/task/detail/work_deque.hpp"

#include <atomic>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/task/detail/node.hpp"

namespace plait::task::work_deque_test {
namespace {

using detail::Node;
using detail::WorkDeque;

TEST(WorkDeque, does_as_a_plain_deque_does) {
  std::mt19937 random{7};
  std::deque<Node> nodes;
  for (int i = 0; i < 2'000; ++i) {
    nodes.emplace_back(TaskKind{0});
  }
  WorkDeque deque;
  std::deque<Node*> model;
  std::size_t next = 0;
  for (int step = 0; step < 100'000; ++step) {
    const auto choice = random() % 16;
    if (choice < 8 && next < nodes.size()) {
      deque.push(nodes[next]);
      model.push_back(&nodes[next++]);
    } else if (choice < 12) {
      ASSERT_EQ(deque.pop(), model.empty() ? nullptr : model.back());
      if (!model.empty()) {
        model.pop_back();
      }
    } else {
      ASSERT_EQ(deque.steal(), model.empty() ? nullptr : model.front());
      if (!model.empty()) {
        model.pop_front();
      }
    }
    ASSERT_EQ(deque.size(), model.size());
    next = model.empty() ? 0 : next;
  }
}

TEST(WorkDeque, gives_each_task_to_one_of_many_threads) {
  constexpr std::size_t count = 20'000;
  std::deque<Node> nodes;
  for (std::size_t i = 0; i < count; ++i) {
    nodes.emplace_back(TaskKind{0});
  }
  WorkDeque deque;
  std::atomic<std::size_t> taken = 0;
  const auto take = [&](Node* node) {
    if (node != nullptr) {
      node->waits.fetch_add(1);
      ++taken;
    }
  };
  {
    std::vector<std::jthread> thieves;
    for (int i = 0; i < 2; ++i) {
      thieves.emplace_back([&] {
        while (taken < count) {
          take(deque.steal());
        }
      });
    }
    std::mt19937 random{3};
    for (Node& node : nodes) {
      deque.push(node);
      if (random() % 3 == 0) {
        take(deque.pop());
      }
    }
    while (taken < count) {
      take(deque.pop());
    }
  }
  for (const Node& node : nodes) {
    ASSERT_EQ(node.waits, 1U);
  }
}

}  // namespace
}  // namespace plait::task::work_deque_test
