// SPDX-License-Identifier: Apache-2.0
#include "plait/accelerate/engine/pool.hpp"

#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace plait::accelerate::pool_test {
namespace {

struct Counted {
  explicit Counted(int& alive) : alive_{alive} { ++alive_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --alive_; }

 private:
  int& alive_;
};

TEST(Pool, knows_its_objects_and_uses_their_memory_again) {
  int alive = 0;
  Pool<Counted> pool{100};
  std::vector<Counted*> used;
  std::set<std::uint32_t> indices;
  std::mt19937 random{1};
  for (int i = 0; i < 5000; ++i) {
    if (used.size() < 100 && (used.empty() || random() % 2 == 0)) {
      Counted& made = pool.make(alive);
      ASSERT_TRUE(pool.contains(&made));
      ASSERT_TRUE(indices.insert(pool.index_of(made)).second) << "one index for two objects";
      ASSERT_EQ(&pool.at(pool.index_of(made)), &made);
      used.push_back(&made);
    } else {
      const std::size_t which = random() % used.size();
      indices.erase(pool.index_of(*used[which]));
      pool.end(*used[which]);
      used.erase(used.begin() + static_cast<std::ptrdiff_t>(which));
    }
    ASSERT_EQ(static_cast<std::size_t>(alive), used.size());
  }
  EXPECT_FALSE(pool.contains(&alive));
  for (Counted* const left : used) {
    pool.end(*left);
  }
}

TEST(Pool, refuses_more_objects_than_it_has_addresses_for) {
  int alive = 0;
  Pool<Counted> pool{2};
  Counted& first = pool.make(alive);
  Counted& second = pool.make(alive);
  EXPECT_THROW((void)pool.make(alive), Error);
  pool.end(first);
  pool.end(pool.make(alive));
  pool.end(second);
  EXPECT_EQ(alive, 0);
}

TEST(Pool, gives_threads_different_objects) {
  Pool<std::uint64_t> pool{1000};
  std::vector<std::jthread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&pool, thread] {
      for (int i = 0; i < 2000; ++i) {
        std::uint64_t& own = pool.make(thread);
        EXPECT_EQ(own, thread);
        pool.end(own);
      }
    });
  }
}

}  // namespace
}  // namespace plait::accelerate::pool_test
