// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include "plait/particles/trees/tree.hpp"

namespace plait::particles::test {

/// Every node lies in its parent, every body in a leaf, groups and batches partition what they should.
inline void expect_sound(const Tree& tree, std::size_t n) {
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
    ASSERT_LE(group.body_count, tree.options().group_bodies_max);
    for (std::uint32_t body = group.first_body; body < next; ++body) {
      ASSERT_TRUE(group.box.contains(tree.sources()[body].position));
    }
  }
  EXPECT_EQ(next, n);
  std::uint32_t next_group = 0;
  for (const Batch& batch : tree.batches()) {
    ASSERT_EQ(batch.first_group, next_group);
    next_group += batch.group_count;
  }
  EXPECT_EQ(next_group, tree.groups().size());
}

}  // namespace plait::particles::test
