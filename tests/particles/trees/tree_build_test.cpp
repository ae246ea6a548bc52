// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/tree_build.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "particles/samples.hpp"
#include "particles/trees/sound_tree.hpp"

namespace plait::particles::tree_build_test {
namespace {

using test::expect_sound;
using test::Sample;

void build_in_pieces(Tree& tree, Sample& sample, std::uint32_t pieces) {
  TreeBuild build{tree};
  build.begin(sample.store, {.charge = sample.mass}, bounding_box(sample.store), pieces);
  for (std::uint32_t i = pieces; i-- > 0;) {
    build.sort_chunk(i);
  }
  build.split_sort();
  for (std::uint32_t i = pieces; i-- > 0;) {
    build.merge_piece(i);
  }
  for (std::uint32_t i = pieces; i-- > 0;) {
    build.order_piece(i);
  }
  build.plan_subtrees();
  for (std::uint32_t i = build.subtrees(); i-- > 0;) {
    build.build_subtree(i);
  }
  build.plan_join();
  for (std::uint32_t i = build.joins(); i-- > 0;) {
    build.join_subtree(i);
  }
  build.finish();
}

TEST(TreeBuild, is_sound_for_any_number_of_bodies) {
  Tree tree;
  TreeBuild build{tree};  // reused
  for (const std::uint32_t n : {0U, 1U, 2U, 8U, 9U, 65U, 20000U, 300U}) {
    Sample sample;
    test::add_sphere(sample, n);
    build.build(sample.store, {.charge = sample.mass});
    expect_sound(tree, n);
  }
}

TEST(TreeBuild, in_pieces_orders_bodies_alike_and_is_sound) {
  for (const std::uint32_t n : {0U, 1U, 100U, 20000U}) {
    Sample whole;
    Sample pieces;
    test::add_sphere(whole, n);
    test::add_sphere(pieces, n);
    Tree a;
    build_tree(a, whole.store, {.charge = whole.mass});
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

TEST(TreeBuild, groups_are_about_as_large_wherever_cells_are_divided) {
  for (const std::uint32_t n : {10'000U, 20'000U, 30'000U, 40'000U, 60'000U}) {
    Sample sample;
    test::add_sphere(sample, n);
    Tree tree;
    build_tree(tree, sample.store, {.charge = sample.mass, .group_bodies_max = 96});
    const double mean = static_cast<double>(n) / static_cast<double>(tree.groups().size());
    EXPECT_GT(mean, 40) << "cells alone would have 12 to 60 by the number of particles";
  }
}

TEST(TreeBuild, of_particles_at_one_place_ends) {
  Sample sample;
  test::add_sphere(sample, 200);
  for (std::size_t i = 0; i < 200; ++i) {
    sample.store.positions()[i] = i < 100 ? Vector{0.5, 0.5, 0.5} : 1e-30 * sample.store.positions()[i];
  }
  Tree tree;
  build_tree(tree, sample.store, {.charge = sample.mass, .group_bodies_max = 128});  // at one place are more than 64
  expect_sound(tree, 200);
  std::ranges::fill(sample.store.positions(), Vector{0.25, 0, 0});
  build_tree(tree, sample.store, {.charge = sample.mass});
  EXPECT_EQ(tree.nodes().size(), 1U);
}

}  // namespace
}  // namespace plait::particles::tree_build_test
