// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/choose.hpp"

#include <atomic>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/net/loopback/loopback.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::fft::choose_test {
namespace {

/// One rank that is alone: what is measured does not matter here, only that all of it is.
class Choosing : public testing::Test {
 protected:
  net::LoopbackNetwork network_{1};
  std::unique_ptr<net::Driver> driver_ = network_.driver(Rank{0});
  SteadyClock clock_;
  trace::Recorder recorder_{clock_};
  comm::Endpoint endpoint_{*driver_, recorder_};
  task::Scheduler scheduler_{endpoint_, recorder_, {}};
};

TEST_F(Choosing, measures_every_variant_and_says_why_one_is_left_out) {
  PlanOptions options{.effort = Effort::estimate};
  options.more.push_back({"own", "", "never called, as one rank exchanges nothing", [](const auto&, const auto&) {
                            return std::unique_ptr<Exchange>{};
                          }});
  const Choice choice = choose(endpoint_, scheduler_, {6, 5, 4}, options);
  std::set<std::string> names;
  for (const Candidate& candidate : choice.candidates) {
    names.insert(candidate.variant);
    EXPECT_GT(candidate.seconds, 0);
    EXPECT_GE(candidate.seconds, choice.candidates.front().seconds);
    EXPECT_NE(choice.describe().find(candidate.variant), std::string::npos);
  }
  EXPECT_EQ(names, (std::set<std::string>{"PLB", "PLN", "PLT", "own"}));
  EXPECT_EQ(choice.variant, choice.candidates.front().variant);
}

TEST_F(Choosing, a_plan_that_is_left_to_choose_tells_what_was_measured) {
  for (const Kind kind : {Kind::real, Kind::complex}) {
    const Plan plan{
        endpoint_, scheduler_, {4, 3, 5}, {.kind = kind, .effort = Effort::estimate, .variant = "automatic"}};
    EXPECT_NE(plan.variant(), "automatic");
    EXPECT_NE(plan.describe().find("chosen by measurement"), std::string::npos);
  }
}

}  // namespace
}  // namespace plait::fft::choose_test
