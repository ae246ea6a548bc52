// SPDX-License-Identifier: Apache-2.0
#include "plait/base/recycled.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace plait::recycled_test {
namespace {

/// Kept in builds with checks too.
struct Kept : Recycled<Kept, 4, true> {
  std::uint64_t values[8] = {};
};
struct Longer : Kept {
  std::uint64_t more = 0;
};

TEST(Recycled, takes_the_memory_that_was_left_last) {
  auto first = std::make_unique<Kept>();
  auto second = std::make_unique<Kept>();
  const void* const memory = second.get();
  second.reset();
  second = std::make_unique<Kept>();
  EXPECT_EQ(second.get(), memory);
}

TEST(Recycled, keeps_no_more_than_it_may) {
  std::vector<std::unique_ptr<Kept>> many(20);
  for (int round = 0; round < 3; ++round) {
    std::set<const void*> places;
    for (std::unique_ptr<Kept>& one : many) {
      one = std::make_unique<Kept>();
      EXPECT_TRUE(places.insert(one.get()).second);
    }
    for (std::unique_ptr<Kept>& one : many) {
      one.reset();
    }
  }
}

TEST(Recycled, does_not_take_memory_for_a_longer_object) {
  auto shorter = std::make_unique<Kept>();
  const void* const memory = shorter.get();
  shorter.reset();
  auto longer = std::make_unique<Longer>();
  longer->more = 1;
  EXPECT_NE(static_cast<const void*>(longer.get()), memory);
  longer.reset();
  EXPECT_EQ(std::make_unique<Kept>().get(), memory);
}

TEST(Recycled, objects_may_end_in_another_thread) {
  std::vector<std::unique_ptr<Kept>> many;
  for (int round = 0; round < 100; ++round) {
    std::jthread{[&many] {
      for (int i = 0; i < 10; ++i) {
        many.push_back(std::make_unique<Kept>());
      }
    }}.join();
    many.resize(many.size() / 2);  // the thread that made them has ended
  }
  EXPECT_FALSE(many.empty());
}

}  // namespace
}  // namespace plait::recycled_test
