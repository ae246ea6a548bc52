// SPDX-License-Identifier: Apache-2.0
#include "plait/particle_mesh/force_split.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::particles::force_split_test {
namespace {

template <class Terms>
double value_at(const Terms& terms, double x) {
  double sum = 0;
  for (std::size_t n = terms.size(); n-- > 0;) {
    sum = sum * x + terms[n];
  }
  return sum;
}

TEST(ForceSplit, polynomials_are_the_smooth_potential_and_force) {
  const double scale = 0.03;
  for (const double cutoffs : {4.0, 5.5, 6.0}) {
    const ForceSplit split{scale, cutoffs * scale};
    for (double r = scale / 100; r < split.cutoff(); r *= 1.1) {
      const double x = 2 * r * r / (split.cutoff() * split.cutoff()) - 1;
      const double u = r / (2 * scale);
      EXPECT_NEAR(value_at(split.potential(), x) * scale, std::erf(u) / r * scale, 3e-10);
      if (u > 0.01) {  // where the formula has digits left
        const double force = std::erf(u) / (r * r * r) - std::numbers::inv_sqrtpi * std::exp(-u * u) / (scale * r * r);
        EXPECT_NEAR(value_at(split.force_over_r(), x) * std::pow(scale, 3), force * std::pow(scale, 3), 1e-8);
      }
    }
  }
}

TEST(ForceSplit, lengths_that_are_no_split_are_refused) {
  EXPECT_THROW((ForceSplit{0, 1}), Error);
  EXPECT_THROW((ForceSplit{1, 0}), Error);
  EXPECT_THROW((ForceSplit{1, 6.1}), Error);
}

}  // namespace
}  // namespace plait::particles::force_split_test
