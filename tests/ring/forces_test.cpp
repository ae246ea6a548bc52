// SPDX-License-Identifier: Apache-2.0
#include "ring/forces.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "ring/direct_sum.hpp"
#include "ring/initial_condition.hpp"

namespace ring {
namespace {

std::vector<Body> ring_of(std::uint32_t n) {
  RingShape shape;
  shape.azimuthal = n / shape.radial;
  return make_ring(shape);
}

/// Self-gravity alone, in the tree's order of the bodies.
ForceSums self_gravity(std::vector<Body>& bodies, const Parameters& parameters, const Kernels& kernels) {
  Tree tree;
  tree.build(bodies, TreeOptions{parameters});
  begin_forces(bodies, 0);
  ForceOptions options{parameters};
  options.kernels = &kernels;
  ForceWorkspace workspace;
  ForceSums sums;
  add_forces(tree.view(), Origin::own_tree, {bodies, tree}, tree.batches(), options, workspace, sums);
  return sums;
}

double error_of(std::vector<Body> bodies, const Parameters& parameters, const char* what) {
  const ForceSums sums = self_gravity(bodies, parameters, best_kernels());
  const auto reference = test::direct_accelerations(bodies);
  const double error = test::rms_error(bodies, reference);
  std::printf("%s: rms error %.2e, %.0f interactions a body\n",
              what,
              error,
              static_cast<double>(sums.body_body + sums.body_cell) / static_cast<double>(bodies.size()));
  return error;
}

TEST(Forces, of_monopoles_are_within_5e_3_for_a_ring) {
  EXPECT_LT(error_of(ring_of(10000), {.order = Order::monopole}, "ring, monopole"), 5e-3);
}
TEST(Forces, of_quadrupoles_are_within_1e_3_for_a_ring) {
  EXPECT_LT(error_of(ring_of(10000), {}, "ring, quadrupole"), 1e-3);
}
TEST(Forces, of_monopoles_are_within_5e_3_for_a_sphere) {
  EXPECT_LT(error_of(make_sphere(10000, 1, 1, 7), {.order = Order::monopole}, "sphere, monopole"), 5e-3);
}
TEST(Forces, of_quadrupoles_are_within_1e_3_for_a_sphere) {
  EXPECT_LT(error_of(make_sphere(10000, 1, 1, 7), {}, "sphere, quadrupole"), 1e-3);
}

}  // namespace
}  // namespace ring
