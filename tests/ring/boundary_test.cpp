// SPDX-License-Identifier: Apache-2.0
#include "ring/boundary.hpp"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "ring/initial_condition.hpp"

namespace ring {
namespace {

Tree tree_of(std::vector<Body> bodies) {
  Tree tree;
  tree.build(bodies, {});
  return tree;
}

TEST(Boundary, covers_each_group_with_one_box) {
  RingShape shape;
  shape.azimuthal = 500;
  const Tree tree = tree_of(make_ring(shape));
  for (const std::uint32_t boxes : {1U, 8U, 33U, 64U}) {
    const Boundary boundary = make_boundary(tree, boxes);
    EXPECT_LE(boundary.box_count, boxes);
    EXPECT_TRUE(is_valid(boundary));
    for (const Group& group : tree.groups()) {
      bool covered = false;
      for (const SmallBox& small : boundary.boxes()) {
        covered = covered || small.box().contains(group.box);
      }
      ASSERT_TRUE(covered);
    }
  }
}

TEST(Boundary, of_a_curved_part_is_mostly_full) {
  RingShape shape;
  shape.azimuthal = 500;
  shape.width = 0.01;
  const Tree tree = tree_of(make_ring(shape));
  double area = 0;
  const Boundary boundary = make_boundary(tree);
  for (const SmallBox& small : boundary.boxes()) {
    const Box box = small.box();
    area += (box.high.x - box.low.x) * (box.high.y - box.low.y);
  }
  EXPECT_LT(area, 0.5);  // one box: 4
}

TEST(Boundary, lets_far_ranks_do_without_a_tree) {
  std::vector<Body> near = make_sphere(500, 1, 1, 1);
  std::vector<Body> far = near;
  for (Body& body : far) {
    body.position.x += 100;
  }
  const Boundary a = make_boundary(tree_of(near));
  const Boundary b = make_boundary(tree_of(far));
  EXPECT_FALSE(needs_let(a, b));
  EXPECT_FALSE(needs_let(b, a));
  EXPECT_TRUE(needs_let(a, a));
}

TEST(Boundary, is_not_valid_when_it_contradicts_itself) {
  const Boundary good = make_boundary(tree_of(make_sphere(500, 1, 1, 1)));
  EXPECT_TRUE(is_valid(good));
  Boundary bad = good;
  bad.box_count = Boundary::boxes_max + 1;
  EXPECT_FALSE(is_valid(bad));
  bad = good;
  bad.body_count = 0;
  EXPECT_FALSE(is_valid(bad));
  bad = good;
  bad.box_table[0].low[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(is_valid(bad));
}

}  // namespace
}  // namespace ring
