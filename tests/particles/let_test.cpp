// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/let.hpp"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "particles/samples.hpp"

namespace plait::particles {
namespace {

using test::Sample;

Tree tree_of_sphere(std::size_t count) {
  Sample sample;
  test::add_sphere(sample, count);
  Tree tree;
  tree.build(sample.store, {.charge = sample.mass});
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
  EXPECT_FALSE(needs_let(make_boundary(empty), make_boundary(full)));
  EXPECT_FALSE(needs_let(make_boundary(full), make_boundary(empty)));
  EXPECT_TRUE(is_valid(make_boundary(empty)));
  const Bytes from_empty = let_for(empty, full);
  EXPECT_EQ(open_let(from_empty, {}).value().root_count, 0U);
  const Bytes to_empty = let_for(full, empty);
  EXPECT_EQ(open_let(to_empty, {}).value().root_count, 0U);
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
  EXPECT_NE(trouble().find("children that stand before it"), std::string::npos) << trouble();
}
TEST_F(DamagedLet, is_refused_when_children_are_missing) {
  node(0).first = 1U << 30;
  EXPECT_NE(trouble().find("children that are not there"), std::string::npos) << trouble();
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
}  // namespace plait::particles
