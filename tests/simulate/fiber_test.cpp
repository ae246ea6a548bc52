// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/fiber.hpp"

#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace plait::simulate::fiber_test {
namespace {

constexpr std::size_t stack_bytes = std::size_t{64} * 1024;

TEST(Fiber, goes_on_where_it_was_suspended) {
  std::vector<int> seen;
  Fiber* self = nullptr;
  Fiber fiber{stack_bytes, [&] {
                for (int step = 0; step < 3; ++step) {
                  seen.push_back(step);
                  self->suspend();
                }
              }};
  self = &fiber;
  for (int round = 0; round < 3; ++round) {
    fiber.resume();
    EXPECT_EQ(seen.size(), round + 1U);
    EXPECT_FALSE(fiber.has_ended());
  }
  fiber.resume();
  EXPECT_TRUE(fiber.has_ended());
  EXPECT_EQ(seen, (std::vector{0, 1, 2}));
}

/// Suspends itself while it handles an exception.
void handle_one(Fiber*& self, const std::string& text, std::string& seen) {
  try {
    throw std::runtime_error{text};
  } catch (const std::exception&) {
    self->suspend();
    try {
      throw;  // the exception that this fiber handles
    } catch (const std::exception& error) {
      seen = error.what();
    }
  }
}

TEST(Fiber, keeps_the_exception_that_it_handles) {
  std::string first_seen;
  std::string second_seen;
  Fiber* first_self = nullptr;
  Fiber* second_self = nullptr;
  Fiber first{stack_bytes, [&] { handle_one(first_self, "first", first_seen); }};
  Fiber second{stack_bytes, [&] { handle_one(second_self, "second", second_seen); }};
  first_self = &first;
  second_self = &second;
  first.resume();
  second.resume();
  EXPECT_EQ(std::current_exception(), nullptr);
  first.resume();  // in the order in which they were thrown: each handler must find its own
  second.resume();
  EXPECT_EQ(first_seen, "first");
  EXPECT_EQ(second_seen, "second");
}

TEST(Fiber, abandoned_can_be_destroyed_before_its_end) {
  bool was_destroyed = false;
  struct Mark {
    bool& mark;
    ~Mark() { mark = true; }
  };
  Fiber* self = nullptr;
  {
    Fiber fiber{stack_bytes, [&] {
                  const Mark mark{was_destroyed};
                  self->suspend();
                }};
    self = &fiber;
    fiber.resume();
    fiber.abandon();
  }
  EXPECT_FALSE(was_destroyed);
}

}  // namespace
}  // namespace plait::simulate::fiber_test
