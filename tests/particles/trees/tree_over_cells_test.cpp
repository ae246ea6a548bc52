// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/tree_over_cells.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "plait/particles/neighbours/cells.hpp"
#include "plait/particles/trees/cell_moments.hpp"

#include "particles/samples.hpp"
#include "particles/trees/sound_tree.hpp"

namespace plait::particles::tree_over_cells_test {
namespace {

using test::expect_sound;
using test::Sample;

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

void refresh(TreeOverCells& cells, const Tree& tree, const Drift& drift) {
  for (auto batch = static_cast<std::uint32_t>(tree.batches().size()); batch-- > 0;) {
    cells.refresh_batch(batch, drift);
  }
  cells.refresh_top();
}

TEST(TreeOverCells, is_sound_for_any_number_of_bodies) {
  Tree tree;
  TreeOverCells cells{tree};  // reused
  for (const std::uint32_t n : {0U, 1U, 2U, 17U, 65U, 20000U, 300U}) {
    Sample sample;
    test::add_sphere(sample, n);
    const CellSizes sizes = divide(sample);
    cells.assign(sample.store, {.charge = sample.mass, .leaf_bodies_max = 4}, sizes);
    refresh(cells, tree, {});
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

/// The sum of offsets from the centre: zero for equal masses.
CellMoments offsets() {
  return make_moments<Vector>(
      [](Vector& sum, const Particles&, Particles::Index, const Vector& offset) { sum += offset; },
      [](Vector& sum, const Vector& child, const Vector& /*offset*/) { sum += child; });
}

TEST(TreeOverCells, sums_moments_of_a_program_where_bodies_have_drifted_to) {
  Sample sample;
  test::add_sphere(sample, 4);  // one leaf
  for (std::size_t i = 0; i < sample.store.size(); ++i) {
    sample.store[sample.velocity][i] = {1, 2, 3};
    sample.store[sample.mass][i] = 1;
  }
  const CellSizes sizes = divide(sample);
  Tree tree;
  TreeOverCells cells{tree};
  cells.assign(sample.store, {.charge = sample.mass, .moments = offsets()}, sizes);
  refresh(cells, tree, {sample.velocity, 0.5});
  Vector sum;
  std::memcpy(static_cast<void*>(&sum), tree.view().moments.data(), sizeof sum);
  EXPECT_LT(length(sum), 1e-12);
}

TEST(TreeOverCells, moves_centres_of_nearly_neutral_cells_no_faster_than_their_bodies) {
  Sample sample;
  const auto velocity = sample.velocity;
  test::add_sphere(sample, 1'000);
  for (std::size_t i = 0; i < sample.store.size(); ++i) {
    sample.store[velocity][i] = {i % 2 == 0 ? 1.0 : -1.0, 0, 0};
    sample.store[sample.mass][i] = i % 2 == 0 ? 1 : -0.999;
  }
  const CellSizes sizes = divide(sample);
  Tree tree;
  TreeOverCells cells{tree};
  cells.assign(sample.store, {.charge = sample.mass, .signs = ChargeSigns::both, .velocity = velocity}, sizes);
  refresh(cells, tree, {});
  tree.find_motions();
  for (const NodeMotion& motion : tree.motions()) {
    ASSERT_LE(std::abs(motion.x), 1.001F);
  }
}

TEST(TreeOverCells, predicts_bodies_that_have_not_drifted) {
  Sample sample;
  const auto velocity = sample.velocity;
  test::add_sphere(sample, 1'000);
  for (std::size_t i = 0; i < sample.store.size(); ++i) {
    sample.store[velocity][i] = {0.1 * static_cast<double>(i % 7), 1, -0.3};
  }
  const CellSizes sizes = divide(sample);
  Tree predicted;
  TreeOverCells of_predicted{predicted};
  of_predicted.assign(sample.store, {.charge = sample.mass}, sizes);
  refresh(of_predicted, predicted, {velocity, 0.25});
  for (std::size_t i = 0; i < sample.store.size(); ++i) {
    sample.store.positions()[i] += 0.25 * sample.store[velocity][i];
  }
  Tree present;
  TreeOverCells of_present{present};
  of_present.assign(sample.store, {.charge = sample.mass}, sizes);
  refresh(of_present, present, {});
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
}  // namespace plait::particles::tree_over_cells_test
