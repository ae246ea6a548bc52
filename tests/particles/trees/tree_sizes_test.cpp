// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/tree_sizes.hpp"

#include <gtest/gtest.h>

namespace plait::particles::tree_sizes_test {
namespace {

constexpr std::size_t million = 1'000'000;

TreeSizes sizes(const Kernels& kernels, Precision precision, std::size_t count = million, std::uint32_t workers = 1) {
  return sizes_for({.kernels = kernels, .precision = precision, .body_count = count, .worker_count = workers});
}

TEST(TreeSizes, grow_with_the_width_of_vectors) {
  TreeSizes before;
  for (const Kernels* const kernels : available_kernels()) {  // slowest first
    const TreeSizes mixed = sizes(*kernels, Precision::mixed);
    const TreeSizes full = sizes(*kernels, Precision::full);
    EXPECT_GE(mixed.group, before.group) << kernels->name;
    EXPECT_GE(mixed.leaf, before.leaf) << kernels->name;
    EXPECT_GE(mixed.group, full.group) << kernels->name;
    EXPECT_GT(full.group, full.leaf) << kernels->name;
    EXPECT_GT(full.batch, full.group) << kernels->name;
    before = mixed;
  }
}

TEST(TreeSizes, have_smaller_groups_where_lists_are_reused) {
  for (const Kernels* const kernels : available_kernels()) {
    for (const Order order : {Order::monopole, Order::quadrupole}) {
      TreeUse use{.kernels = *kernels, .precision = Precision::mixed, .order = order, .body_count = million};
      const TreeSizes once = sizes_for(use);
      use.uses_of_lists = 4;
      const TreeSizes reused = sizes_for(use);
      EXPECT_LT(reused.group, once.group) << kernels->name;
      EXPECT_GE(reused.group, reused.leaf) << kernels->name;
      EXPECT_EQ(reused.leaf, once.leaf) << kernels->name;
    }
  }
}

TEST(TreeSizes, leave_each_worker_several_batches) {
  const Kernels& kernels = best_kernels();
  EXPECT_EQ(sizes(kernels, Precision::full, million, 2).batch, sizes(kernels, Precision::full).batch);
  const TreeSizes many = sizes(kernels, Precision::full, million, 100);
  EXPECT_GE(million / many.batch, 8 * 100U);
  EXPECT_GE(many.batch, many.group);
  const TreeSizes few_bodies = sizes(kernels, Precision::full, 10, 100);
  EXPECT_EQ(few_bodies.batch, few_bodies.group) << "a group is never divided";
}

}  // namespace
}  // namespace plait::particles::tree_sizes_test
