// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/task_costs.hpp"

#include <optional>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::simulate::task_costs_test {
namespace {

using std::chrono::microseconds;

TEST(TaskCosts, charges_the_cost_of_the_kind) {
  const ManualClock machine;
  TaskCosts costs{{.kinds = {{"gemm", microseconds{5}}}, .overhead = microseconds{1}}};
  std::optional<BodyUse> use;
  EXPECT_EQ(costs.execute("gemm", [&](BodyUse how) { use = how; }, machine), microseconds{6});
  EXPECT_EQ(use, BodyUse::runs);
  EXPECT_TRUE(costs.measured().empty());
}

TEST(TaskCosts, skips_bodies_of_known_kinds_only) {
  const ManualClock machine;
  TaskCosts costs{{.kinds = {{"gemm", microseconds{5}}}, .bodies = BodyUse::skipped}};
  std::optional<BodyUse> use;
  EXPECT_EQ(costs.execute("gemm", [&](BodyUse how) { use = how; }, machine), microseconds{5});
  EXPECT_EQ(use, BodyUse::skipped);
  (void)costs.execute("trsm", [&](BodyUse how) { use = how; }, machine);
  EXPECT_EQ(use, BodyUse::runs);
}

TEST(TaskCosts, measures_and_scales_other_kinds) {
  ManualClock machine;
  TaskCosts costs{{.scale = 0.5}};
  const auto body = [&](BodyUse) { machine.advance_to(machine.now() + microseconds{10}); };
  EXPECT_EQ(costs.execute("trsm", body, machine), microseconds{5});
  EXPECT_EQ(costs.execute("trsm", body, machine), microseconds{5});
  ASSERT_EQ(costs.measured().size(), 1U);
  EXPECT_EQ(costs.measured().at("trsm"), 2U);
}

TEST(TaskCosts, charges_other_kinds_what_is_given_and_runs_their_bodies) {
  ManualClock machine;
  TaskCosts costs{{.kinds = {{"gemm", microseconds{5}}}, .other_kinds = microseconds{100}, .bodies = BodyUse::skipped}};
  std::optional<BodyUse> use;
  const auto body = [&](BodyUse how) {
    use = how;
    machine.advance_to(machine.now() + microseconds{10});
  };
  EXPECT_EQ(costs.execute("trsm", body, machine), microseconds{100});
  EXPECT_EQ(use, BodyUse::runs);
  EXPECT_TRUE(costs.is_known("trsm"));
  EXPECT_TRUE(costs.measured().empty());
}

TEST(TaskCosts, refuses_negative_times_and_scales) {
  EXPECT_THROW(TaskCosts({.kinds = {{"gemm", microseconds{-1}}}}), Error);
  EXPECT_THROW(TaskCosts({.scale = 0}), Error);
  EXPECT_THROW(TaskCosts({.other_kinds = microseconds{-1}}), Error);
  EXPECT_THROW(TaskCosts({.overhead = microseconds{-1}}), Error);
}

}  // namespace
}  // namespace plait::simulate::task_costs_test
