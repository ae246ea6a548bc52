// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/force_error.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/particles/steps/conserved.hpp"
#include "plait/particles/trees/long_range.hpp"
#include "plait/particles/trees/tree_build.hpp"

#include "particles/samples.hpp"

namespace plait::particles::force_error_test {
namespace {

using test::Sample;

constexpr double softening = 0.02;

TreeOptions tree_options(const Sample& sample, Order order) {
  return {.charge = sample.mass, .order = order};
}

double theta_of(Sample& sample, Order order, double wanted) {
  return theta_of_error({sample.store, {}, sample.acceleration, sample.potential},
                        tree_options(sample, order),
                        {.precision = Precision::mixed, .softening = softening},
                        wanted);
}

/// The forces of all on all.
void compute(Sample& sample, Order order, double theta) {
  std::ranges::fill(sample.store[sample.acceleration], Vector{});
  std::ranges::fill(sample.store[sample.potential], 0.0);
  Tree tree;
  TreeOptions options = tree_options(sample, order);
  options.theta = theta;
  build_tree(tree, sample.store, options);
  const TreeView view = tree.view();
  WalkSpace space;
  walk({view},
       {sample.store, tree, {}, sample.acceleration, sample.potential},
       tree.batches(),
       {.precision = Precision::mixed, .softening = softening},
       space);
}

/// The mean error along the direct force, over the mean force: what one sign of errors adds to all.
double mean_error(std::span<const Vector> found, std::span<const Vector> expected) {
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double force = length(expected[i]);
    error += dot(found[i] - expected[i], expected[i]) / force;
    norm += force;
  }
  return error / norm;
}

/// The kinetic and potential energy, of which each pair counts once.
double energy(const Sample& sample) {
  const Conserved sum = conserved(sample.store, {sample.mass, sample.velocity, sample.potential});
  return sum.kinetic + sum.potential;
}

class WantedError : public testing::TestWithParam<std::tuple<Order, double>> {};

TEST_P(WantedError, is_that_of_the_forces_of_all_particles) {
  const auto [order, wanted] = GetParam();
  Sample sample;
  test::add_sphere(sample, 8'000);
  compute(sample, order, theta_of(sample, order, wanted));
  const double error =
      test::rms_error(sample.store[sample.acceleration], test::direct_accelerations(sample, softening));
  EXPECT_LT(error, 1.25 * wanted);
  EXPECT_GT(error, 0.4 * wanted);
}

INSTANTIATE_TEST_SUITE_P(Orders,
                         WantedError,
                         testing::Values(std::tuple{Order::monopole, 5e-3},
                                         std::tuple{Order::quadrupole, 3e-3},
                                         std::tuple{Order::quadrupole, 3e-4}));

TEST(ForceError, of_quadrupoles_has_little_of_one_sign) {
  constexpr double wanted = 1e-3;
  Sample sample;
  test::add_sphere(sample, 8'000);
  compute(sample, Order::quadrupole, theta_of(sample, Order::quadrupole, wanted));
  const auto expected = test::direct_accelerations(sample, softening);
  EXPECT_LT(std::abs(mean_error(sample.store[sample.acceleration], expected)), 0.4 * wanted);
}

TEST(ForceError, of_quadrupoles_conserves_the_energy_of_a_collapse) {
  constexpr double dt = 1.0 / 128;
  constexpr int steps = 32;
  Sample sample;
  test::add_sphere(sample, 8'000);
  std::ranges::fill(sample.store[sample.velocity], Vector{});
  const double theta = theta_of(sample, Order::quadrupole, 1e-3);
  compute(sample, Order::quadrupole, theta);
  const double begin = energy(sample);
  const auto kick = [&] {
    for (std::size_t i = 0; i < sample.store.size(); ++i) {
      sample.store[sample.velocity][i] += (dt / 2) * sample.store[sample.acceleration][i];
    }
  };
  for (int step = 0; step < steps; ++step) {
    kick();
    for (std::size_t i = 0; i < sample.store.size(); ++i) {
      sample.store.positions()[i] += dt * sample.store[sample.velocity][i];
    }
    compute(sample, Order::quadrupole, theta);
    kick();
  }
  EXPECT_LT(std::abs(energy(sample) / begin - 1), 1e-5);
  EXPECT_GT(conserved(sample.store, {sample.mass, sample.velocity, sample.potential}).kinetic,
            0.02 * std::abs(begin));  // it has begun to collapse
}

TEST(ForceError, of_few_particles_gives_an_angle) {
  for (const std::size_t count : {0U, 1U, 2U, 100U}) {
    Sample sample;
    test::add_sphere(sample, count);
    EXPECT_GT(theta_of(sample, Order::quadrupole, 1e-3), 0);
    EXPECT_EQ(sample.store.size(), count);
  }
}

TEST(ForceError, is_refused_if_it_cannot_be) {
  EXPECT_THROW((void)make_long_range({.force_error = -1e-3}), Error);
  EXPECT_THROW((void)make_long_range({.force_error = std::nan("")}), Error);
}

}  // namespace
}  // namespace plait::particles::force_error_test
