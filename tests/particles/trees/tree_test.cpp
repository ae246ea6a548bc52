// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/tree.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "plait/particles/neighbours/cells.hpp"

#include "particles/samples.hpp"

namespace plait::particles::tree_test {
namespace {

using test::Sample;

void build_in_pieces(Tree& tree, Sample& sample, std::uint32_t pieces) {
  tree.begin(sample.store, {.charge = sample.mass}, bounding_box(sample.store), pieces);
  for (std::uint32_t i = pieces; i-- > 0;) {
    tree.sort_chunk(i);
  }
  tree.split_sort();
  for (std::uint32_t i = pieces; i-- > 0;) {
    tree.merge_piece(i);
  }
  for (std::uint32_t i = pieces; i-- > 0;) {
    tree.order_piece(i);
  }
  tree.plan_subtrees();
  for (std::uint32_t i = tree.subtrees(); i-- > 0;) {
    tree.build_subtree(i);
  }
  tree.finish();
}

/// Every node lies in its parent, every body in a leaf, groups and batches partition what they should.
void expect_sound(const Tree& tree, std::size_t n) {
  std::size_t in_leaves = 0;
  for (std::size_t i = 0; i < tree.nodes().size(); ++i) {
    const Node& node = tree.nodes()[i];
    const NodeExtent& extent = tree.extents()[i];
    if (node.kind() == NodeKind::leaf) {
      ASSERT_EQ(node.first, extent.first_body);
      ASSERT_EQ(node.count(), extent.body_count);
      in_leaves += node.count();
      continue;
    }
    std::uint32_t bodies = 0;
    double mass = 0;
    for (std::uint32_t child = node.first; child < node.first + node.count(); ++child) {
      ASSERT_GT(child, i);
      ASSERT_TRUE(extent.box.contains(tree.extents()[child].box));
      bodies += tree.extents()[child].body_count;
      mass += tree.extents()[child].mass;
    }
    ASSERT_GT(node.count(), 1U);  // a chain of only children is skipped
    ASSERT_EQ(bodies, extent.body_count);
    ASSERT_DOUBLE_EQ(mass, extent.mass);
  }
  EXPECT_EQ(in_leaves, n);
  std::uint32_t next = 0;
  for (const BodyGroup& group : tree.groups()) {
    ASSERT_EQ(group.first_body, next);
    next += group.body_count;
  }
  EXPECT_EQ(next, n);
  std::uint32_t next_group = 0;
  for (const Batch& batch : tree.batches()) {
    ASSERT_EQ(batch.first_group, next_group);
    next_group += batch.group_count;
  }
  EXPECT_EQ(next_group, tree.groups().size());
}

TEST(Tree, is_sound_for_any_number_of_bodies) {
  Tree tree;  // reused
  for (const std::uint32_t n : {0U, 1U, 2U, 8U, 9U, 65U, 20000U, 300U}) {
    Sample sample;
    test::add_sphere(sample, n);
    tree.build(sample.store, {.charge = sample.mass});
    expect_sound(tree, n);
  }
}

TEST(Tree, in_pieces_orders_bodies_alike_and_is_sound) {
  for (const std::uint32_t n : {0U, 1U, 100U, 20000U}) {
    Sample whole;
    Sample pieces;
    test::add_sphere(whole, n);
    test::add_sphere(pieces, n);
    Tree a;
    a.build(whole.store, {.charge = whole.mass});
    Tree b;
    build_in_pieces(b, pieces, 4);
    expect_sound(b, n);
    EXPECT_EQ(a.nodes().size(), b.nodes().size());
    EXPECT_EQ(a.groups().size(), b.groups().size());
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(whole.store.ids()[i], pieces.store.ids()[i]);
    }
  }
}

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
  tree.build(sample.store, {.charge = sample.mass});
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

TEST(Tree, of_particles_at_one_place_ends) {
  Sample sample;
  test::add_sphere(sample, 200);
  for (std::size_t i = 0; i < 200; ++i) {
    sample.store.positions()[i] = i < 100 ? Vector{0.5, 0.5, 0.5} : 1e-30 * sample.store.positions()[i];
  }
  Tree tree;
  tree.build(sample.store, {.charge = sample.mass});
  expect_sound(tree, 200);
  std::ranges::fill(sample.store.positions(), Vector{0.25, 0, 0});
  tree.build(sample.store, {.charge = sample.mass});
  EXPECT_EQ(tree.nodes().size(), 1U);
}

/// Puts the particles in the order of cells, with the tree's leaves within.
CellSizes divide(Sample& sample) {
  std::vector<Particles::Index> order;
  const CellSizes sizes = divide_into_cells(
      sample.store,
      {.leaf_particles_max = 16, .group_particles_max = 32, .cell_particles_max = 128, .ordered_particles_max = 4},
      order);
  sample.store.reorder(order);
  return sizes;
}

void refresh(Tree& tree, const Drift& drift) {
  for (auto batch = static_cast<std::uint32_t>(tree.batches().size()); batch-- > 0;) {
    tree.refresh_batch(batch, drift);
  }
  tree.refresh_top();
}

TEST(Tree, over_cells_is_sound_for_any_number_of_bodies) {
  Tree tree;  // reused
  for (const std::uint32_t n : {0U, 1U, 2U, 17U, 65U, 20000U, 300U}) {
    Sample sample;
    test::add_sphere(sample, n);
    const CellSizes sizes = divide(sample);
    tree.assign(sample.store, {.charge = sample.mass, .leaf_bodies_max = 4}, sizes);
    refresh(tree, {});
    expect_sound(tree, n);
    EXPECT_EQ(tree.batches().size(), sizes.cells.size());
    EXPECT_EQ(tree.groups().size(), sizes.groups.size());
    for (const Node& node : tree.nodes()) {
      ASSERT_LE(node.kind() == NodeKind::leaf ? node.count() : 0U, 4U);
    }
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(tree.sources()[i].position, sample.store.positions()[i]) << "bodies keep their order";
    }
  }
}

TEST(Tree, over_cells_predicts_bodies_that_have_not_drifted) {
  Sample sample;
  const auto velocity = sample.velocity;
  test::add_sphere(sample, 1'000);
  for (std::size_t i = 0; i < sample.store.size(); ++i) {
    sample.store[velocity][i] = {0.1 * static_cast<double>(i % 7), 1, -0.3};
  }
  const CellSizes sizes = divide(sample);
  Tree predicted;
  predicted.assign(sample.store, {.charge = sample.mass}, sizes);
  refresh(predicted, {velocity, 0.25});
  for (std::size_t i = 0; i < sample.store.size(); ++i) {
    sample.store.positions()[i] += 0.25 * sample.store[velocity][i];
  }
  Tree present;
  present.assign(sample.store, {.charge = sample.mass}, sizes);
  refresh(present, {});
  ASSERT_EQ(predicted.nodes().size(), present.nodes().size());
  for (std::size_t i = 0; i < present.nodes().size(); ++i) {
    ASSERT_EQ(predicted.nodes()[i].center, present.nodes()[i].center);
    ASSERT_EQ(predicted.nodes()[i].opening2, present.nodes()[i].opening2);
  }
  for (std::size_t i = 0; i < present.groups().size(); ++i) {
    ASSERT_TRUE(predicted.groups()[i].box.contains(present.groups()[i].box));
  }
}

}  // namespace
}  // namespace plait::particles::tree_test
