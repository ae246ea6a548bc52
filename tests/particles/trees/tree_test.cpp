// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/tree.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "plait/particles/trees/tree_build.hpp"

#include "particles/samples.hpp"

namespace plait::particles::tree_test {
namespace {

using test::Sample;

TEST(Tree, has_the_mass_center_and_quadrupole_of_its_bodies_at_the_root) {
  Sample sample;
  test::add_sphere(sample, 5000);
  const auto positions = sample.store.positions();
  const auto masses = sample.store[sample.mass];
  for (std::size_t i = 0; i < 5000; ++i) {
    positions[i].x *= 3;
    masses[i] *= 1 + positions[i].y * positions[i].x / 4;
  }
  Tree tree;
  build_tree(tree, sample.store, {.charge = sample.mass});
  double mass = 0;
  Vector center;
  for (std::size_t i = 0; i < 5000; ++i) {
    mass += masses[i];
    center += masses[i] * positions[i];
  }
  center = (1 / mass) * center;
  double xx = 0;
  double xy = 0;
  for (std::size_t i = 0; i < 5000; ++i) {
    const Vector d = positions[i] - center;
    xx += masses[i] * (3 * d.x * d.x - dot(d, d));
    xy += masses[i] * 3 * d.x * d.y;
  }
  const Node& root = tree.nodes()[0];
  EXPECT_NEAR(tree.extents()[0].mass, mass, 1e-13);
  EXPECT_LT(length(root.center - center), 1e-14);
  EXPECT_NEAR(root.quadrupole.xx, xx, 1e-6 * xx);
  EXPECT_NEAR(root.quadrupole.xy, xy, 1e-6 * xx);
}

}  // namespace
}  // namespace plait::particles::tree_test
