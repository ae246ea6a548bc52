// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/let.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/particles/neighbours/cells.hpp"
#include "plait/particles/trees/tree_build.hpp"
#include "plait/particles/trees/tree_over_cells.hpp"

#include "particles/samples.hpp"

namespace plait::particles::let_test {
namespace {

using test::Sample;

Tree tree_of_sphere(std::size_t count) {
  Sample sample;
  test::add_sphere(sample, count);
  Tree tree;
  build_tree(tree, sample.store, {.charge = sample.mass});
  return tree;
}

Bytes let_for(const Tree& sender, const Tree& receiver) {
  LetPlan plan;
  plan.choose(sender, make_boundary(receiver));
  Bytes buffer;
  plan.write(sender, buffer);
  return buffer;
}

TEST(Let, of_a_rank_without_particles_is_empty_and_valid) {
  const Tree empty = tree_of_sphere(0);
  const Tree full = tree_of_sphere(1000);
  EXPECT_FALSE(needs_let(make_boundary(empty), make_boundary(full), {}));
  EXPECT_FALSE(needs_let(make_boundary(full), make_boundary(empty), {}));
  EXPECT_TRUE(is_valid(make_boundary(empty)));
  const Bytes from_empty = let_for(empty, full);
  EXPECT_EQ(open_let(from_empty, {}).value().root_count, 0U);
  const Bytes to_empty = let_for(full, empty);
  EXPECT_EQ(open_let(to_empty, {}).value().root_count, 0U);
}

TEST(Let, has_of_the_whole_tree_all_that_is_near_and_of_the_rest_the_moments) {
  Sample sample;
  test::add_sphere(sample, 2'000);
  Tree tree;
  build_tree(tree, sample.store, {.charge = sample.mass, .travels = {Particles::id}});
  const std::vector<AnyField> travels{Particles::id};
  Box corner;
  corner.include(Vector{0.9, 0, 0});
  corner.include(Vector{0.95, 0.05, 0.05});
  RankBoundary receiver;
  receiver.root = tree.nodes()[0];
  receiver.body_count = receiver.box_count = 1;
  receiver.box_table[0] = SmallBox{corner};
  LetPlan plan;
  plan.choose(tree, receiver);
  Bytes let;
  plan.write(tree, let);
  const TreeView view = open_let(let, travels).value();
  EXPECT_LT(view.sources.size(), 1'000U);
  EXPECT_GT(view.sources.size(), 20U);
  double mass = 0;
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    mass += view.nodes[i].kind() == NodeKind::cell ? 0 : static_cast<double>(view.nodes[i].mass);
  }
  EXPECT_NEAR(mass, 1, 1e-5);
  const auto* ids = reinterpret_cast<const std::uint64_t*>(view.columns[0]);
  std::size_t near = 0;
  for (std::size_t i = 0; i < sample.store.size(); ++i) {
    near += distance2(corner, sample.store.positions()[i]) < 1e-3 ? 1 : 0;
  }
  std::size_t near_here = 0;
  for (std::size_t i = 0; i < view.sources.size(); ++i) {
    near_here += distance2(corner, view.sources[i].position) < 1e-3 ? 1 : 0;
    const auto place = std::ranges::find(sample.store.ids(), ids[i]) - sample.store.ids().begin();
    ASSERT_EQ(view.sources[i].position, sample.store.positions()[static_cast<std::size_t>(place)]);
  }
  EXPECT_EQ(near_here, near);
}

TEST(Let, drifts_as_its_bodies_do) {
  Sample sample;
  const auto velocity = sample.velocity;
  test::add_sphere(sample, 2'000);
  for (std::size_t i = 0; i < sample.store.size(); ++i) {
    sample.store[velocity][i] = {0.05 * static_cast<double>(i % 3), -0.5, 0.01 * static_cast<double>(i % 11)};
  }
  std::vector<Particles::Index> order;
  const CellSizes sizes = divide_into_cells(sample.store, {16, 64, 512, 4}, order);
  sample.store.reorder(order);
  Tree tree;
  TreeOverCells{tree}.assign(sample.store, {.charge = sample.mass, .travels = {velocity}, .velocity = velocity}, sizes);
  tree.refresh();
  tree.find_motions();
  Box corner;
  corner.include(Vector{0.9, 0, 0});
  corner.include(Vector{0.95, 0.05, 0.05});
  RankBoundary receiver;
  receiver.root = tree.nodes()[0];
  receiver.body_count = receiver.box_count = 1;
  receiver.box_table[0] = SmallBox{corner};
  LetPlan plan;
  plan.choose(tree, receiver);
  Bytes let;
  plan.write(tree, let);
  const std::vector<AnyField> travels{velocity};
  const TreeView drifted = open_let(let, travels).value();
  constexpr double duration = 0.2;
  drift_let(let, drifted, 0, duration);
  for (std::size_t i = 0; i < sample.store.size(); ++i) {
    sample.store.positions()[i] += duration * sample.store[velocity][i];
  }
  tree.refresh();
  Bytes later;
  plan.write(tree, later);
  const TreeView exact = open_let(later, travels).value();
  ASSERT_EQ(drifted.nodes.size(), exact.nodes.size());
  for (std::size_t i = 0; i < exact.nodes.size(); ++i) {
    ASSERT_LT(length(drifted.nodes[i].center - exact.nodes[i].center), 1e-6);
    ASSERT_GE(drifted.nodes[i].radius.value(), 0.99F * exact.nodes[i].radius.value())
        << "the sphere contains all bodies";
  }
  ASSERT_EQ(drifted.sources.size(), exact.sources.size());
  for (std::size_t i = 0; i < exact.sources.size(); ++i) {
    ASSERT_LT(length(drifted.sources[i].position - exact.sources[i].position), 1e-12);
  }
}

TEST(Let, written_again_after_a_refresh_has_the_same_shape_and_the_new_places) {
  Sample sample;
  test::add_sphere(sample, 1'000);
  Tree tree;
  build_tree(tree, sample.store, {.charge = sample.mass});
  LetPlan plan;
  plan.choose(tree, make_boundary(tree));
  Bytes before;
  plan.write(tree, before);
  for (Vector& position : sample.store.positions()) {
    position += Vector{1, 0, 0};
  }
  tree.refresh();
  Bytes after;
  plan.write(tree, after);
  const TreeView old_view = open_let(before, {}).value();
  const TreeView new_view = open_let(after, {}).value();
  ASSERT_EQ(new_view.nodes.size(), old_view.nodes.size());
  EXPECT_NEAR(new_view.nodes[0].center.x, old_view.nodes[0].center.x + 1, 1e-12);
  for (std::size_t i = 0; i < new_view.sources.size(); ++i) {
    EXPECT_NEAR(new_view.sources[i].position.x, old_view.sources[i].position.x + 1, 1e-15);
  }
}

/// A valid tree to damage.
class DamagedLet : public testing::Test {
 protected:
  void SetUp() override {
    let_ = let_for(tree_of_sphere(500), tree_of_sphere(500));
    ASSERT_TRUE(open_let(let_, {}));
  }
  Node& node(std::size_t i) { return reinterpret_cast<Node*>(let_.data() + sizeof(LetHeader))[i]; }
  std::string trouble() {
    auto opened = open_let(let_, {});
    return opened ? "none" : opened.error().what();
  }
  Bytes let_;
};

TEST_F(DamagedLet, is_refused_when_it_is_cut_short) {
  for (std::size_t keep : {std::size_t{0}, std::size_t{10}, sizeof(LetHeader), let_.size() - 1}) {
    EXPECT_FALSE(open_let(std::span{let_}.first(keep), {})) << keep;
  }
}
TEST_F(DamagedLet, is_refused_when_a_node_is_its_own_child) {
  node(0).first = 0;
  EXPECT_NE(trouble().find("children before itself"), std::string::npos) << trouble();
}
TEST_F(DamagedLet, is_refused_when_children_are_missing) {
  node(0).first = 1U << 30;
  EXPECT_NE(trouble().find("children beyond the end"), std::string::npos) << trouble();
}
TEST_F(DamagedLet, is_refused_when_a_number_is_not_finite) {
  node(0).center.x = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(trouble().find("not finite"), std::string::npos) << trouble();
}
TEST_F(DamagedLet, is_refused_when_what_should_travel_is_missing) {
  const Sample sample;
  const std::vector<AnyField> velocities{sample.velocity};
  EXPECT_FALSE(open_let(let_, velocities));
}

TEST_F(DamagedLet, never_crashes_the_check_whatever_byte_is_wrong) {
  const Bytes good = let_;
  for (std::size_t i = 0; i < good.size(); i += 7) {
    let_ = good;
    let_[i] ^= std::byte{0x81};
    static_cast<void>(trouble());
  }
}

}  // namespace
}  // namespace plait::particles::let_test
