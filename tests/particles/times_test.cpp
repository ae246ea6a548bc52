// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/times.hpp"

#include <array>

#include <gtest/gtest.h>

namespace plait::particles::times_test {
namespace {

using std::chrono::milliseconds;

TEST(Times, are_told_by_phase_in_milliseconds_a_step_as_mean_and_maximum) {
  std::array<StepTimes, 2> ranks;
  for (StepTimes& times : ranks) {
    times.steps = 10;
    times.wall = milliseconds{1000};
    times.interactions = 1'000'000;
  }
  ranks[0][Phase::walk] = milliseconds{200};
  ranks[1][Phase::walk] = milliseconds{400};
  ranks[0].idle = milliseconds{200};
  const std::string table = times_table(ranks, 2);
  EXPECT_NE(table.find("  tree walk                  15.000       20.000\n"), std::string::npos) << table;
  EXPECT_NE(table.find("  exchange LETs, wait         5.000       10.000\n"), std::string::npos) << table;
  EXPECT_NE(table.find("Total                       100.000      100.000\n"), std::string::npos) << table;
  EXPECT_NE(table.find("2.000e+05 interactions a step; 2.000e+06 a second, 5.000e+05 a second and core"),
            std::string::npos)
      << table;
}

TEST(Times, without_steps_say_so) {
  EXPECT_EQ(times_table({}, 1), "no steps were made\n");
}

TEST(Times, of_a_scope_are_added_to_its_phase) {
  PhaseTimes times{};
  {
    const PhaseTimer timer{times, Phase::exchange};
  }
  EXPECT_GT(times[static_cast<std::size_t>(Phase::exchange)].count(), 0);
}

}  // namespace
}  // namespace plait::particles::times_test
