// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/groups/halo_shape.hpp"

#include <cmath>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/testing/run_program.hpp"

#include "particles/samples.hpp"

namespace plait::particles::halo_shape_test {
namespace {

using test::Sample;

const Space box{.root = {{-4, -4, -4}, {4, 4, 4}}, .periodic = {true, true, true}};
const Vector centre{3.5, -3.8, 0};  // the ellipsoid is across two edges of the box
constexpr double turns = 0.7;       // radians for a unit of time, about z
constexpr double a = 1.5;
constexpr double b = 1.0;
constexpr double c = 0.5;

/// Points of a lattice inside of an ellipsoid, in a rigid rotation. The mass is 1.
std::vector<Vector> make_ellipsoid(double distance) {
  std::vector<Vector> points;
  const int reach = static_cast<int>(a / distance) + 1;
  for (int i = -reach; i <= reach; ++i) {
    for (int j = -reach; j <= reach; ++j) {
      for (int k = -reach; k <= reach; ++k) {
        const Vector d{(i + 0.3) * distance, (j + 0.4) * distance, (k + 0.1) * distance};
        if (d.x * d.x / (a * a) + d.y * d.y / (b * b) + d.z * d.z / (c * c) <= 1) {
          points.push_back(d);
        }
      }
    }
  }
  return points;
}

struct Shape {
  LabelledMoments moments;
  double radius = 0;
};

/// Measures `points` of the label 7 on some ranks, beside particles without a label.
std::vector<Shape> measure(const std::vector<Vector>& points, std::uint32_t ranks) {
  std::vector<Shape> found;
  std::mutex mutex;
  plait::test::run_program({.ranks = ranks}, [&](Runtime& runtime) {
    Sample sample;
    std::vector<std::uint64_t> labels;
    for (std::size_t i = runtime.self().value(); i < points.size(); i += ranks) {
      const std::size_t at = sample.store.add(2);
      sample.store.positions()[at] = box.wrap(centre + points[i]);
      sample.store.positions()[at + 1] = box.wrap(Vector{0, 0, 2} + points[i]);
      sample.store[sample.mass][at] = sample.store[sample.mass][at + 1] = 1.0 / static_cast<double>(points.size());
      sample.store[sample.velocity][at] = Vector{100, 0, 3} + turns * Vector{-points[i].y, points[i].x, 0};
      labels.insert(labels.end(), {7, no_label});
    }
    const MomentsOptions options{.mass = sample.mass, .velocity = sample.velocity, .space = box};
    const std::span<const std::uint64_t> all{labels};
    const auto moments = measure_moments(runtime.messages(), sample.store, options, all);
    const auto radii = half_mass_radii(runtime.messages(), sample.store, options, all, moments);
    ASSERT_EQ(radii.size(), moments.size());
    const std::lock_guard lock{mutex};
    for (std::size_t i = 0; i < moments.size(); ++i) {
      found.push_back({moments[i], radii[i]});
    }
  });
  return found;
}

TEST(HaloShape, IsThatOfAnEllipsoidOfKnownAxesAndRotation) {
  const std::vector<Vector> points = make_ellipsoid(0.06);
  for (const std::uint32_t ranks : {1U, 2U, 3U}) {
    SCOPED_TRACE(testing::Message() << ranks << " ranks");
    const std::vector<Shape> found = measure(points, ranks);
    ASSERT_EQ(found.size(), 1);
    const SelectionMoments& moments = found.front().moments;
    const AxisRatios ratios = axis_ratios(moments);
    EXPECT_NEAR(ratios.intermediate, b / a, 0.005);
    EXPECT_NEAR(ratios.shortest, c / a, 0.005);
    // J = M turns (a^2 + b^2) / 5; with G = 2 and R = 3, V = sqrt(2 / 3).
    const double expected = turns * (a * a + b * b) / 5 / (std::sqrt(2.0) * std::sqrt(2.0 / 3) * 3);
    EXPECT_NEAR(spin_parameter(moments, 3, 2), expected, 0.01 * expected);
  }
}

TEST(HaloShape, HalfOfTheMassIsWithinTheRadius) {
  std::vector<Vector> points = make_ellipsoid(0.15);
  for (const std::uint32_t ranks : {1U, 2U, 3U}) {
    SCOPED_TRACE(testing::Message() << ranks << " ranks");
    const std::vector<Shape> found = measure(points, ranks);
    ASSERT_EQ(found.size(), 1);
    std::size_t within = 0;
    std::size_t nearer = 0;
    for (const Vector& point : points) {
      const double distance = length(box.nearest(centre + point - found.front().moments.centre));
      within += distance <= found.front().radius + 1e-12 ? 1 : 0;
      nearer += distance < found.front().radius - 1e-12 ? 1 : 0;
    }
    EXPECT_GE(2 * within, points.size());
    EXPECT_LE(2 * nearer, points.size());  // exactly half, if sums of masses round down
  }
}

TEST(HaloShape, OfOneParticleIsAPoint) {
  const std::vector<Shape> found = measure({{0.1, 0.2, 0.3}}, 2);
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found.front().radius, 0);
  EXPECT_EQ(axis_ratios(found.front().moments).shortest, 1);
  EXPECT_EQ(spin_parameter(found.front().moments, 1, 1), 0);
}

TEST(HaloShape, NeedsALabelForEachParticle) {
  EXPECT_THROW(plait::test::run_program({.ranks = 2},
                                        [](Runtime& runtime) {
                                          Sample sample;
                                          sample.store.add(1);
                                          (void)half_mass_radii(
                                              runtime.messages(), sample.store, {.mass = sample.mass}, {}, {});
                                        }),
               Error);
}

}  // namespace
}  // namespace plait::particles::halo_shape_test
