// SPDX-License-Identifier: Apache-2.0
#include "plait/particle_mesh/ewald.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::particles::ewald_test {
namespace {

TEST(Ewald, a_salt_crystal_has_madelungs_constant) {
  std::vector<Vector> places;
  std::vector<double> charges;
  for (int site = 0; site < 8; ++site) {
    const int x = site & 1;
    const int y = site >> 1 & 1;
    const int z = site >> 2;
    places.push_back({0.5 * x, 0.5 * y, 0.5 * z});
    charges.push_back((x + y + z) % 2 == 0 ? 1 : -1);
  }
  const EwaldField field = ewald_field({{0, 0, 0}, {1, 1, 1}}, places, charges);
  for (std::size_t i = 0; i < places.size(); ++i) {
    // A charge of the other sign attracts, in the sign of gravity it repels.
    EXPECT_NEAR(field.potential[i] * charges[i] * 0.5, 1.747564594633182, 1e-12);
    EXPECT_LT(length(field.acceleration[i]), 1e-12);
  }
}

TEST(Ewald, the_field_is_the_gradient_of_the_potential_and_scales_with_the_box) {
  const std::vector<Vector> places{{0.1, 0.2, 0.3}, {0.7, 0.4, 0.9}, {0.5, 0.55, 0.1}};
  const std::vector<double> charges{1, 2, 0.5};
  const auto potential_of = [&](double x) {
    std::vector<Vector> moved = places;
    moved[1].x += x;
    return ewald_field({{0, 0, 0}, {1, 1, 1}}, moved, charges).potential[1];
  };
  const EwaldField field = ewald_field({{0, 0, 0}, {1, 1, 1}}, places, charges);
  const double step = 1e-5;
  EXPECT_NEAR(field.acceleration[1].x, -(potential_of(step) - potential_of(-step)) / (2 * step), 1e-8);
  std::vector<Vector> larger = places;
  for (Vector& place : larger) {
    place = 3 * place;
  }
  const EwaldField scaled = ewald_field({{0, 0, 0}, {3, 3, 3}}, larger, charges);
  EXPECT_NEAR(scaled.potential[0] * 3, field.potential[0], 1e-12);
  EXPECT_NEAR(scaled.acceleration[0].z * 9, field.acceleration[0].z, 1e-12);
}

TEST(Ewald, the_mean_potential_of_a_cloud_is_nearly_zero) {
  // The potential of one charge, at the points of a fine mesh around it.
  std::vector<Vector> places{{0, 0, 0}};
  std::vector<double> charges{1};
  constexpr int points = 12;
  for (int i = 0; i < points * points * points; ++i) {
    places.push_back(
        {(i % points + 0.5) / points, (i / points % points + 0.5) / points, (i / points / points + 0.5) / points});
    charges.push_back(0);
  }
  const EwaldField field = ewald_field({{0, 0, 0}, {1, 1, 1}}, places, charges);
  double mean = 0;
  for (std::size_t i = 1; i < places.size(); ++i) {
    mean += field.potential[i] / (points * points * points);
  }
  EXPECT_NEAR(mean, 0, 0.01);  // the mid-point rule for 1 / r
}

TEST(Ewald, boxes_and_spans_that_do_not_fit_are_refused) {
  const std::vector<Vector> places{{0, 0, 0}};
  EXPECT_THROW((void)ewald_field({{0, 0, 0}, {1, 1, 1}}, places, {}), Error);
  const std::vector<double> charges{1};
  EXPECT_THROW((void)ewald_field({{0, 0, 0}, {1, 1, 2}}, places, charges), Error);
}

}  // namespace
}  // namespace plait::particles::ewald_test
