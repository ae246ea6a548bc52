// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/boundary.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "plait/particles/trees/rank_summary.hpp"
#include "plait/particles/trees/tree_build.hpp"

#include "particles/samples.hpp"

namespace plait::particles::boundary_test {
namespace {

using test::Sample;

Tree tree_of(Sample& sample) {
  Tree tree;
  build_tree(tree, sample.store, {.charge = sample.mass});
  return tree;
}

Tree tree_of_sphere(double shift = 0) {
  Sample sample;
  test::add_sphere(sample, 500);
  for (Vector& position : sample.store.positions()) {
    position.x += shift;
  }
  return tree_of(sample);
}

/// 20 circles about the origin, from radius 1 to 1 + `width`.
Tree tree_of_ring(double width) {
  Sample sample;
  sample.store.add(10000);
  for (std::size_t i = 0; i < 10000; ++i) {
    const double phi = 2 * M_PI * static_cast<double>(i / 20) / 500;
    const double r = 1 + width * static_cast<double>(i % 20) / 19;
    sample.store.positions()[i] = {r * std::cos(phi), r * std::sin(phi), 0};
    sample.store[sample.mass][i] = 1e-4;
  }
  return tree_of(sample);
}

TEST(RankBoundary, covers_each_group_with_one_box) {
  const Tree tree = tree_of_ring(0.1);
  for (const std::uint32_t boxes : {1U, 8U, 33U, 64U}) {
    const RankBoundary boundary = make_boundary(tree, boxes);
    EXPECT_LE(boundary.box_count, boxes);
    EXPECT_TRUE(is_valid(boundary));
    for (const BodyGroup& group : tree.groups()) {
      bool covered = false;
      for (const SmallBox& small : boundary.boxes()) {
        covered = covered || small.box().contains(group.box);
      }
      ASSERT_TRUE(covered);
    }
  }
}

TEST(RankBoundary, of_a_curved_part_is_mostly_full) {
  double area = 0;
  const RankBoundary boundary = make_boundary(tree_of_ring(0.01));
  for (const SmallBox& small : boundary.boxes()) {
    const Box box = small.box();
    area += (box.high.x - box.low.x) * (box.high.y - box.low.y);
  }
  EXPECT_LT(area, 0.5);  // one box: 4
}

TEST(RankBoundary, lets_far_ranks_do_without_a_tree) {
  const RankBoundary a = make_boundary(tree_of_sphere());
  const RankBoundary b = make_boundary(tree_of_sphere(100));
  EXPECT_FALSE(needs_let(a, b, {}));
  EXPECT_FALSE(needs_let(b, a, {}));
  EXPECT_TRUE(needs_let(a, a, {}));
}

/// Who does without by its summary must do without by its boxes, or the one side would wait for the other.
TEST(RankBoundary, asks_for_no_tree_that_the_summary_does_not_ask_for) {
  for (double distance = 1; distance < 8; distance += 0.25) {
    const Tree a = tree_of_sphere();
    const Tree b = tree_of_sphere(distance);
    EXPECT_LE(needs_let(make_boundary(a), make_boundary(b), {}), needs_let(summary_of(a), summary_of(b), {}));
  }
}

TEST(RankBoundary, is_not_valid_when_it_contradicts_itself) {
  const RankBoundary good = make_boundary(tree_of_sphere());
  EXPECT_TRUE(is_valid(good));
  RankBoundary bad = good;
  bad.box_count = RankBoundary::boxes_max + 1;
  EXPECT_FALSE(is_valid(bad));
  bad = good;
  bad.body_count = 0;
  EXPECT_FALSE(is_valid(bad));
  bad = good;
  bad.box_table[0].low[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(is_valid(bad));
}

}  // namespace
}  // namespace plait::particles::boundary_test
