// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/load_model.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::data::load_model_test {
namespace {

TEST(Forecast, says_what_comes_next) {
  const std::vector<double> growing{1, 2, 3, 4};
  const std::vector<double> disturbed{2, 2, 50, 2, 2};
  const std::vector<double> shrinking{3, 2, 1, 0};
  EXPECT_DOUBLE_EQ(forecast_of(growing, Forecast::last), 4);
  EXPECT_DOUBLE_EQ(forecast_of(growing, Forecast::median), 2.5);
  EXPECT_DOUBLE_EQ(forecast_of(growing, Forecast::trend), 5);
  EXPECT_DOUBLE_EQ(forecast_of(disturbed, Forecast::median), 2);
  EXPECT_DOUBLE_EQ(forecast_of(shrinking, Forecast::trend), 0);  // not -1
  EXPECT_DOUBLE_EQ(forecast_of(std::vector<double>{1, 3, 2}, Forecast::trend), 3);
  for (const Forecast forecast : {Forecast::last, Forecast::median, Forecast::trend}) {
    EXPECT_DOUBLE_EQ(forecast_of({}, forecast), 0);
    EXPECT_DOUBLE_EQ(forecast_of(std::vector<double>{7}, forecast), 7);
  }
}

TEST(LoadModel, remembers_a_window_of_phases) {
  LoadModel model{{.forecast = Forecast::median, .window = 3}};
  for (const double seconds : {9.0, 9.0, 1.0, 2.0, 3.0}) {
    const std::array<LoadModel::Load, 1> loads{{{ElementId{4}, seconds}}};
    model.observe(loads, seconds / 10);
  }
  EXPECT_DOUBLE_EQ(model.load(ElementId{4}), 2);
  EXPECT_DOUBLE_EQ(model.background(), 0.2);
  EXPECT_EQ(model.phases(), 3U);
  EXPECT_DOUBLE_EQ(model.load(ElementId{5}), 0);
  EXPECT_THROW(LoadModel{{.window = 0}}, Error);
}

TEST(LoadModel, forgets_elements_that_have_gone_and_hands_over_those_that_move) {
  LoadModel here{{.forecast = Forecast::trend, .window = 4}};
  LoadModel there{{.forecast = Forecast::trend, .window = 4}};
  const std::array<LoadModel::Load, 2> first{{{ElementId{1}, 10}, {ElementId{2}, 5}}};
  const std::array<LoadModel::Load, 2> second{{{ElementId{1}, 20}, {ElementId{2}, 5}}};
  here.observe(first, 0);
  here.observe(second, 0);
  there.give(ElementId{1}, here.take(ElementId{1}));
  EXPECT_DOUBLE_EQ(here.load(ElementId{1}), 0);
  EXPECT_DOUBLE_EQ(there.load(ElementId{1}), 30);
  EXPECT_TRUE(here.take(ElementId{1}).empty());
  there.observe(std::array<LoadModel::Load, 1>{{{ElementId{1}, 30}}}, 0);
  EXPECT_DOUBLE_EQ(there.load(ElementId{1}), 40);
  there.observe({}, 0);  // erased there
  EXPECT_DOUBLE_EQ(there.load(ElementId{1}), 0);
}

}  // namespace
}  // namespace plait::data::load_model_test
