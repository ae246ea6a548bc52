// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/uncertainty.hpp"

#include <memory>

#include <gtest/gtest.h>

#include "plait/replay/predict/predict.hpp"

#include "replay/predict/exchanges.hpp"

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

}  // namespace
}  // namespace plait::replay::uncertainty_test
