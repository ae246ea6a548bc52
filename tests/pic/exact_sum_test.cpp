// SPDX-License-Identifier: Apache-2.0
#include "pic/exact_sum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/random.hpp"

namespace exact_sum_test {
namespace {

using pic::ExactSum;

double sum_of(const std::vector<double>& values) {
  ExactSum sum;
  std::for_each(values.begin(), values.end(), [&](double value) { sum.add(value); });
  return sum.value();
}

TEST(ExactSum, loses_nothing) {
  EXPECT_EQ(sum_of({}), 0);
  EXPECT_EQ(sum_of({1e308, 3, -1e308}), 3);
  EXPECT_EQ(sum_of({1, 1e-300, -1}), 1e-300);
  EXPECT_EQ(sum_of({-1, -0x1p-52}), -1 - 0x1p-52);
  EXPECT_EQ(sum_of({5e-324, 5e-324}), 1e-323);
  EXPECT_EQ(sum_of({-0.75, 0.5}), -0.25);
  EXPECT_TRUE(std::isnan(sum_of({1, std::numeric_limits<double>::infinity()})));
  EXPECT_TRUE(std::isnan(sum_of({1, std::nan("")})));
}

TEST(ExactSum, depends_on_neither_order_nor_division) {
  plait::Random random{7};
  std::vector<double> values(1000);
  for (double& value : values) {
    value = std::ldexp(random.unit() - 0.5, static_cast<int>(random.below(200)) - 100);
  }
  const double whole = sum_of(values);
  std::reverse(values.begin(), values.end());
  EXPECT_EQ(sum_of(values), whole);
  for (const std::size_t cut : {std::size_t{1}, std::size_t{400}, std::size_t{999}}) {
    ExactSum left;
    ExactSum right;
    for (std::size_t i = 0; i < values.size(); ++i) {
      (i < cut ? left : right).add(values[i]);
    }
    const auto more = right.parts();
    const auto parts = left.parts();
    std::transform(parts.begin(), parts.end(), more.begin(), parts.begin(), std::plus<>{});
    EXPECT_EQ(left.value(), whole);
  }
}

}  // namespace
}  // namespace exact_sum_test
