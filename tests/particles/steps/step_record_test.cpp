// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/step_record.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "plait/base/clock.hpp"

namespace plait::particles::step_record_test {
namespace {

TEST(StepRecord, has_a_name_of_its_own_for_each_phase) {
  std::set<std::string> names;
  for (std::size_t phase = 0; phase < phase_count; ++phase) {
    names.insert(StepRecord::name_of(static_cast<Phase>(phase)));
  }
  EXPECT_EQ(names.size(), phase_count);
  EXPECT_FALSE(names.contains(""));
}

TEST(StepRecord, notes_nothing_while_the_recorder_is_off) {
  SteadyClock clock;
  trace::Recorder recorder{clock};
  StepRecord record{recorder};
  record.note({.number = 1, .particles = 2, .updated = 2}, {});
  EXPECT_FALSE(recorder.is_on());
}

}  // namespace
}  // namespace plait::particles::step_record_test
