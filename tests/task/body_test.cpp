// SPDX-License-Identifier: Apache-2.0
#include "plait/task/body.hpp"

#include <array>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "plait/net/loopback/loopback.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::task::body_test {
namespace {

/// Bodies are called with a context, which only a run has.
class Bodies : public testing::Test {
 protected:
  void call(Body body) {
    Graph graph;
    graph.task("body", std::move(body));
    scheduler_.run(graph);
  }

  net::LoopbackNetwork network_{1};
  SteadyClock clock_;
  trace::Recorder recorder_{clock_};
  std::unique_ptr<net::Driver> driver_ = network_.driver(Rank{0});
  comm::Endpoint endpoint_{*driver_, recorder_};
  Scheduler scheduler_{endpoint_, recorder_, {}};
};

TEST_F(Bodies, take_a_context_or_nothing) {
  int calls = 0;
  call([&] { ++calls; });
  call([&](TaskContext& context) { calls += context.worker() == WorkerId{0} ? 10 : 0; });
  EXPECT_EQ(calls, 11);
}

TEST_F(Bodies, hold_what_can_only_be_moved_in_place_and_beside_it) {
  int sum = 0;
  auto owned = std::make_unique<int>(3);
  call([&sum, owned = std::move(owned)] { sum += *owned; });
  std::array<int, 100> large{};
  large[99] = 4;
  call([&sum, large, also = std::make_unique<int>(30)] { sum += large[99] + *also; });
  EXPECT_EQ(sum, 37);
}

TEST_F(Bodies, destroy_what_they_hold_once) {
  const auto counted = std::make_shared<int>(1);
  {
    Body small{[counted] {}};
    Body large{[counted, room = std::array<char, 100>{}] { static_cast<void>(room); }};
    EXPECT_EQ(counted.use_count(), 3);
    Body moved{std::move(small)};
    moved = std::move(large);
    EXPECT_EQ(counted.use_count(), 2);
    EXPECT_FALSE(static_cast<bool>(small));  // NOLINT(bugprone-use-after-move): that is what is asked
    EXPECT_TRUE(static_cast<bool>(moved));
    moved.reset();
    EXPECT_EQ(counted.use_count(), 1);
  }
  EXPECT_EQ(counted.use_count(), 1);
}

}  // namespace
}  // namespace plait::task::body_test
