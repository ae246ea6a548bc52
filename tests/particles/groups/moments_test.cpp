// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/groups/moments.hpp"

#include <cmath>
#include <map>
#include <mutex>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/testing/run_program.hpp"

#include "particles/samples.hpp"

namespace plait::particles::moments_test {
namespace {

using test::Sample;

constexpr std::uint64_t labels = 5;
const Space box{.root = {{0, 0, 0}, {1, 1, 1}}, .periodic = {true, true, true}};

struct Body {
  Vector place;  ///< Not wrapped.
  Vector velocity;
  double mass = 1;
  std::uint64_t label = 0;
};

/// Clouds of several shapes, some across edges of the box, and some bodies without a label.
std::vector<Body> make_bodies() {
  std::vector<Body> bodies;
  std::mt19937_64 random{3};
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> unit{0.5, 1.5};
  for (std::uint64_t i = 0; i < 800; ++i) {
    const std::uint64_t label = i % (labels + 1);
    const double size = 0.01 * static_cast<double>(label + 1);
    const Vector d{size * normal(random), size / 2 * normal(random), size / 3 * normal(random)};
    const Vector w{300 + normal(random) - 40 * d.y, normal(random) + 40 * d.x, 2 * normal(random)};
    bodies.push_back({.place = Vector{0.2 * static_cast<double>(label), 0.98, 0.5} + d,
                      .velocity = w,
                      .mass = unit(random),
                      .label = label == labels ? no_label : label});
  }
  return bodies;
}

/// The moments by two passes over bodies whose places are not wrapped.
template <class Use>
SelectionMoments by_two_passes(const std::vector<Body>& bodies, Use use) {
  SelectionMoments sum;
  for (const Body& body : bodies) {
    if (use(body)) {
      ++sum.members;
      sum.mass += body.mass;
      sum.centre += body.mass * body.place;
      sum.velocity += body.mass * body.velocity;
    }
  }
  sum.centre = (1 / sum.mass) * sum.centre;
  sum.velocity = (1 / sum.mass) * sum.velocity;
  const auto add = [&](SymmetricTensor& to, double mass, const Vector& v) {
    to.xx += mass / sum.mass * v.x * v.x, to.yy += mass / sum.mass * v.y * v.y, to.zz += mass / sum.mass * v.z * v.z;
    to.yz += mass / sum.mass * v.y * v.z, to.xz += mass / sum.mass * v.x * v.z, to.xy += mass / sum.mass * v.x * v.y;
  };
  for (const Body& body : bodies) {
    if (use(body)) {
      const Vector d = body.place - sum.centre;
      const Vector w = body.velocity - sum.velocity;
      add(sum.extent, body.mass, d);
      add(sum.dispersion, body.mass, w);
      sum.angular_momentum += body.mass * cross(d, w);
    }
  }
  return sum;
}

void expect_near(const SymmetricTensor& one, const SymmetricTensor& other) {
  const double error = 1e-11 * other.trace();
  EXPECT_NEAR(one.xx, other.xx, error);
  EXPECT_NEAR(one.yy, other.yy, error);
  EXPECT_NEAR(one.zz, other.zz, error);
  EXPECT_NEAR(one.yz, other.yz, error);
  EXPECT_NEAR(one.xz, other.xz, error);
  EXPECT_NEAR(one.xy, other.xy, error);
}

void expect_near(const SelectionMoments& one, const SelectionMoments& other) {
  EXPECT_EQ(one.members, other.members);
  EXPECT_NEAR(one.mass, other.mass, 1e-11 * other.mass);
  EXPECT_LT(length(box.nearest(one.centre - other.centre)), 1e-12);
  EXPECT_EQ(one.centre, box.wrap(one.centre));
  EXPECT_LT(length(one.velocity - other.velocity), 1e-10);
  EXPECT_LT(length(one.angular_momentum - other.angular_momentum), 1e-11 * length(other.angular_momentum));
  expect_near(one.extent, other.extent);
  expect_near(one.dispersion, other.dispersion);
}

/// Calls `use` on each rank, with every `ranks`-th body.
template <class Use>
void on_ranks(std::uint32_t ranks, const std::vector<Body>& bodies, Use use) {
  plait::test::run_program({.ranks = ranks}, [&](Runtime& runtime) {
    Sample sample;
    std::vector<std::uint64_t> mine;
    for (std::size_t i = runtime.self().value(); i < bodies.size(); i += ranks) {
      const std::size_t at = sample.store.add(1);
      sample.store.positions()[at] = box.wrap(bodies[i].place);
      sample.store.ids()[at] = i;
      sample.store[sample.mass][at] = bodies[i].mass;
      sample.store[sample.velocity][at] = bodies[i].velocity;
      mine.push_back(bodies[i].label);
    }
    use(runtime.messages(),
        sample,
        MomentsOptions{.mass = sample.mass, .velocity = sample.velocity, .space = box},
        mine);
  });
}

TEST(Moments, OfLabelsAreThoseOfTwoPasses) {
  const std::vector<Body> bodies = make_bodies();
  for (const std::uint32_t ranks : {1U, 2U, 3U, 7U}) {
    std::map<std::uint64_t, SelectionMoments> found;
    std::mutex mutex;
    on_ranks(ranks, bodies, [&](auto& messages, auto& sample, const auto& options, const auto& mine) {
      const auto all = measure_moments(messages, sample.store, options, std::span<const std::uint64_t>{mine});
      const std::lock_guard lock{mutex};
      for (const LabelledMoments& one : all) {
        EXPECT_TRUE(found.emplace(one.id, one).second) << "a label is on one rank";
      }
    });
    ASSERT_EQ(found.size(), labels);
    for (const auto& [label, moments] : found) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, label " << label);
      expect_near(moments, by_two_passes(bodies, [&](const Body& body) { return body.label == label; }));
    }
  }
}

TEST(Moments, OfASelectionAreEqualOnAllRanks) {
  const std::vector<Body> bodies = make_bodies();
  const auto expected = by_two_passes(bodies, [](const Body& body) { return body.label == 3 && body.mass > 0.7; });
  for (const std::uint32_t ranks : {1U, 2U, 3U, 7U}) {
    std::vector<SelectionMoments> found;
    std::mutex mutex;
    on_ranks(ranks, bodies, [&](auto& messages, auto& sample, const auto& options, const auto& mine) {
      const SelectionMoments one =
          measure_moments(messages, sample.store, options, [&](const Particles& store, Particles::Index i) {
            return mine[i] == 3 && store[sample.mass][i] > 0.7;
          });
      const std::lock_guard lock{mutex};
      found.push_back(one);
    });
    SCOPED_TRACE(testing::Message() << ranks << " ranks");
    expect_near(found.front(), expected);
    for (const SelectionMoments& one : found) {
      EXPECT_EQ(one.centre, found.front().centre);
      EXPECT_EQ(one.extent, found.front().extent);
      EXPECT_EQ(one.angular_momentum, found.front().angular_momentum);
    }
  }
}

TEST(Moments, OfNoParticlesAreZero) {
  on_ranks(2, make_bodies(), [](auto& messages, auto& sample, const auto& options, const auto& /*mine*/) {
    const SelectionMoments none =
        measure_moments(messages, sample.store, options, [](const Particles&, Particles::Index) { return false; });
    EXPECT_EQ(none.members, 0);
    EXPECT_EQ(none.radius(), 0);
    EXPECT_EQ(none.centre, Vector{});
  });
}

TEST(Moments, OfOneParticleHaveNoExtent) {
  const std::vector<Body> one{{.place = {0.3, 0.2, 0.9}, .velocity = {5, 6, 7}, .mass = 2}};
  on_ranks(2, one, [](auto& messages, auto& sample, const auto& options, const auto& /*mine*/) {
    const SelectionMoments moments =
        measure_moments(messages, sample.store, options, [](const Particles&, Particles::Index) { return true; });
    EXPECT_EQ(moments.members, 1);
    EXPECT_EQ(moments.velocity, (Vector{5, 6, 7}));
    EXPECT_EQ(moments.radius(), 0);
    EXPECT_EQ(moments.speed(), 0);
  });
}

TEST(Moments, NeedALabelForEachParticle) {
  EXPECT_THROW(on_ranks(2,
                        make_bodies(),
                        [](auto& messages, auto& sample, const auto& options, const auto& /*mine*/) {
                          (void)measure_moments(messages, sample.store, options, std::span<const std::uint64_t>{});
                        }),
               Error);
}

TEST(Moments, PrincipalAxesAreThoseOfATurnedEllipsoid) {
  // Rows of a rotation: the directions of the eigenvalues 9, 4 and 1.
  const Vector a{2.0 / 3, 2.0 / 3, 1.0 / 3};
  const Vector b{-2.0 / 3, 1.0 / 3, 2.0 / 3};
  const Vector c{1.0 / 3, -2.0 / 3, 2.0 / 3};
  const auto element = [&](double Vector::* i, double Vector::* j) {
    return 9 * a.*i * a.*j + 4 * b.*i * b.*j + c.*i * c.*j;
  };
  constexpr auto x = &Vector::x;
  constexpr auto y = &Vector::y;
  constexpr auto z = &Vector::z;
  const PrincipalAxes axes =
      principal_axes({element(x, x), element(y, y), element(z, z), element(y, z), element(x, z), element(x, y)});
  const std::array values{9.0, 4.0, 1.0};
  const std::array directions{a, b, c};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(axes.values[i], values[i], 1e-13);
    EXPECT_NEAR(std::abs(dot(axes.directions[i], directions[i])), 1, 1e-13);
  }
}

TEST(Moments, InertiaOfTwoBodiesIsThatAboutTheirCentre) {
  const std::vector<Body> pair{{.place = {0.4, 0.5, 0.5}, .velocity = {}, .mass = 1},
                               {.place = {0.6, 0.5, 0.5}, .velocity = {}, .mass = 3}};
  on_ranks(2, pair, [](auto& messages, auto& sample, const auto& options, const auto& /*mine*/) {
    const SelectionMoments moments =
        measure_moments(messages, sample.store, options, [](const Particles&, Particles::Index) { return true; });
    EXPECT_NEAR(moments.centre.x, 0.55, 1e-15);
    const SymmetricTensor inertia = moments.inertia();
    EXPECT_NEAR(inertia.xx, 0, 1e-15);
    EXPECT_NEAR(inertia.yy, 0.15 * 0.15 + 3 * 0.05 * 0.05, 1e-15);
    EXPECT_NEAR(inertia.zz, inertia.yy, 1e-15);
  });
}

}  // namespace
}  // namespace plait::particles::moments_test
