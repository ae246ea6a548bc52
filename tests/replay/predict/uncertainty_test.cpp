// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/uncertainty.hpp"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <optional>

#include <gtest/gtest.h>

#include "plait/replay/predict/predict.hpp"

#include "replay/predict/exchanges.hpp"
#include "replay/task_graphs.hpp"

namespace plait::replay::uncertainty_test {
namespace {

/// One message of 1001 bytes: 300 + 1000 + 500 + 200 ns.
Scenario scenario_with(const std::optional<Spread>& spread) {
  testing::Exchange exchange{2};
  exchange.send(0, 1, 1001);
  exchange.wait_for_all(0);
  exchange.receive(1, 0, 1001);
  exchange.wait_for_all(1);
  Platform platform = testing::simple_platform();
  platform.between_hosts.eager_bytes_max = 10'000;
  platform.spread = spread;
  return {std::make_shared<const Schedule>(exchange.schedule), platform, {}};
}

std::optional<nanoseconds> off(const std::optional<Spread>& spread) {
  const Scenario scenario = scenario_with(spread);
  return uncertainty(scenario, predict(*scenario.schedule, scenario.platform).value().total);
}

TEST(Uncertainty, is_not_known_without_a_spread) {
  EXPECT_FALSE(off(std::nullopt));
}

TEST(Uncertainty, is_what_each_part_of_the_spread_changes) {
  EXPECT_EQ(off(Spread{}).value().count(), 0);
  EXPECT_EQ(off(Spread{.latency = 0.1}).value().count(), 100);
  EXPECT_EQ(off(Spread{.overhead = 0.2}).value().count(), 100);
  EXPECT_EQ(off(Spread{.bytes = 0.5}).value().count(), 250);
  EXPECT_EQ(off(Spread{.latency = 0.3, .overhead = 0.8}).value().count(), 500);  // 300 and 400
}

/// One task after the other, each in a step of its own.
TaskRun run_of_steps(std::initializer_list<int> times_us) {
  TaskGraphs graphs{1, 1};
  std::optional<std::uint32_t> before;
  for (const int time : times_us) {
    const std::uint32_t task = graphs.task(0, microseconds{time}, "walk");
    if (before) {
      graphs.order(*before, task);
    }
    before = task;
  }
  TaskRun run = graphs.get();
  for (std::uint32_t step = 0; step < run.nodes.size(); ++step) {
    run.nodes[step].step = step;
  }
  run.length = microseconds{std::accumulate(times_us.begin(), times_us.end(), 0)};
  return run;
}

TaskUncertainty off_of_tasks(const TaskRun& run, const TaskOptions& options = {}) {
  const Platform platform = simple_network();
  return uncertainty_of_tasks(run,
                              platform,
                              options,
                              predict_tasks(run, platform, options).value().total,
                              predict_tasks(run, platform, {}).value().total);
}

TEST(TaskUncertainty, is_nothing_if_steps_are_equal_and_the_record_is_predicted) {
  const TaskUncertainty off = off_of_tasks(run_of_steps({100, 100, 100, 100}));
  EXPECT_EQ(off.whole().count(), 0);
  EXPECT_EQ(off.steps, 4U);
}

TEST(TaskUncertainty, has_the_standard_error_of_steps_in_proportion_to_what_is_predicted) {
  const TaskRun run = run_of_steps({80, 120, 80, 120});  // deviation 23.1 us, of the sum of four twice as much
  EXPECT_NEAR(static_cast<double>(off_of_tasks(run).computing.count()), 46'188, 2);
  EXPECT_NEAR(static_cast<double>(off_of_tasks(run, {.kind_factor = {0.5}}).computing.count()), 23'094, 2);
}

TEST(TaskUncertainty, has_what_the_model_leaves_out_of_the_record) {
  TaskRun run = run_of_steps({100, 100, 100, 100});
  run.length = microseconds{500};
  EXPECT_EQ(off_of_tasks(run).model, microseconds{80});  // a fifth of 400
  EXPECT_EQ(off_of_tasks(run, {.kind_factor = {0.5}}).model, microseconds{40});
}

TEST(TaskUncertainty, of_one_step_has_no_spread) {
  const TaskUncertainty off = off_of_tasks(run_of_steps({100}));
  EXPECT_EQ(off.steps, 1U);
  EXPECT_EQ(off.computing.count(), 0);
}

}  // namespace
}  // namespace plait::replay::uncertainty_test
