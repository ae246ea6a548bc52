// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/walk.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "particles/samples.hpp"

namespace plait::particles {
namespace {

using test::Sample;

/// Forces of all on all, into the sample's fields.
WalkSums add_forces(Sample& sample, TreeOptions tree_options, const WalkOptions& options, Kinds targets = {}) {
  Tree tree;
  tree_options.charge = sample.mass;
  tree_options.near_radius = options.near_radius;
  tree.build(sample.store, tree_options);
  WalkSpace space;
  const TreeView view = tree.view();
  walk({view, Origin::own_tree},
       {sample.store, tree, targets, sample.acceleration, sample.potential},
       tree.batches(),
       options,
       space);
  return space.sums;
}

double error_of(TreeOptions tree_options, const WalkOptions& options) {
  Sample sample;
  test::add_sphere(sample, 5'000);
  add_forces(sample, tree_options, options);
  return test::rms_error(sample.store[sample.acceleration], test::direct_accelerations(sample, options.softening));
}

TEST(Walk, monopoles_are_within_5e_3_of_the_direct_sum) {
  EXPECT_LT(error_of({.theta = 0.5}, {.order = Order::monopole}), 5e-3);
}

TEST(Walk, quadrupoles_are_within_1e_3_of_the_direct_sum) {
  EXPECT_LT(error_of({.theta = 0.5}, {.order = Order::quadrupole}), 1e-3);
}

TEST(Walk, without_cells_gives_the_direct_sum) {
  EXPECT_LT(error_of({.theta = 0}, {.softening = 0.01}), 1e-12);
}

TEST(Walk, kinds_choose_who_pulls_and_who_is_pulled) {
  Sample sample;
  test::add_sphere(sample, 500);
  for (std::size_t i = 0; i < sample.store.size(); ++i) {
    sample.store[Particles::kind][i] = static_cast<std::uint8_t>(i % 2);
  }
  add_forces(sample, {.sources = {1}, .theta = 0}, {}, {0});
  Sample pulling = [&] {
    Sample other;
    for (std::size_t i = 0; i < sample.store.size(); ++i) {
      const std::size_t place = other.store.add(1);
      other.store.positions()[place] = sample.store.positions()[i];
      other.store[other.mass][place] = sample.store[Particles::kind][i] == 1 ? sample.store[sample.mass][i] : 0;
    }
    return other;
  }();
  const std::vector<Vector> expected = test::direct_accelerations(pulling);
  for (std::size_t i = 0; i < sample.store.size(); ++i) {
    const bool is_target = sample.store[Particles::kind][i] == 0;
    const Vector error = sample.store[sample.acceleration][i] - (is_target ? 1.0 : 0.0) * expected[i];
    EXPECT_LT(length(error), 1e-10);
  }
}

TEST(Walk, hands_each_near_pair_to_the_program_from_both_sides) {
  Sample sample;
  test::add_sphere(sample, 1'000);
  constexpr double radius = 0.15;
  std::size_t pairs = 0;
  std::size_t far = 0;
  WalkOptions options{.near_radius = radius};
  options.near = [&](const NearPairs& near) {
    for (const std::uint32_t source : near.sources) {
      ++pairs;
      const Vector d = near.view.sources[source].position - sample.store.positions()[near.target];
      far += dot(d, d) < radius * radius ? 0 : 1;
    }
  };
  add_forces(sample, {}, options);
  std::size_t expected = 0;
  for (const Vector& a : sample.store.positions()) {
    for (const Vector& b : sample.store.positions()) {
      expected += dot(a - b, a - b) < radius * radius ? 1 : 0;
    }
  }
  EXPECT_EQ(pairs, expected - sample.store.size());
  EXPECT_EQ(far, 0U);
}

TEST(Walk, all_at_one_place_pull_nothing_and_end) {
  Sample sample;
  sample.store.add(1'000);
  for (double& mass : sample.store[sample.mass]) {
    mass = 1;
  }
  add_forces(sample, {}, {});
  for (const Vector& acceleration : sample.store[sample.acceleration]) {
    EXPECT_EQ(acceleration, Vector{});
  }
}

TEST(Walk, a_position_that_is_no_number_is_named_by_the_id_of_its_particle) {
  Sample sample;
  test::add_sphere(sample, 10);
  sample.store.positions()[3].y = std::numeric_limits<double>::quiet_NaN();
  try {
    add_forces(sample, {}, {});
    FAIL() << "it must be refused";
  } catch (const Error& error) {
    EXPECT_NE(std::string{error.what()}.find("particle 3 "), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace plait::particles
