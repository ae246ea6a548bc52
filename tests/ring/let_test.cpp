// SPDX-License-Identifier: Apache-2.0
#include "ring/let.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ring/direct_sum.hpp"
#include "ring/domain.hpp"
#include "ring/forces.hpp"
#include "ring/initial_condition.hpp"

namespace ring {
namespace {

std::vector<Body> ring_of(std::uint32_t n) {
  RingShape shape;
  shape.azimuthal = n / shape.radial;
  return make_ring(shape);
}

/// The forces that ranks compute which hold the bodies of their domains and exchange trees.
class Ranks {
 public:
  Ranks(const std::vector<Body>& all, std::uint32_t count, const Parameters& parameters) : parameters_{parameters} {
    const Domains domains{make_grid(count), choose_samples(all, 5000)};
    bodies_.resize(count);
    trees_.resize(count);
    for (const Body& body : all) {
      bodies_[domains.rank_of(body.position)].push_back(body);
    }
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      trees_[rank].build(bodies_[rank], TreeOptions{parameters});
      boundaries_.push_back(make_boundary(trees_[rank]));
    }
  }

  void compute() {
    for (std::uint32_t me = 0; me < bodies_.size(); ++me) {
      begin_forces(bodies_[me], 0);
      add(me, trees_[me].view(), Origin::own_tree);
      std::vector<Boundary> far;
      for (std::uint32_t other = 0; other < bodies_.size(); ++other) {
        if (other == me) {
          continue;
        }
        if (needs_let(boundaries_[other], boundaries_[me])) {
          const Bytes let = make_let(trees_[other], boundaries_[me]);
          let_bytes += let.size();
          add(me, open_let(let, parameters_.collision_radius > 0).value(), Origin::received);
        } else {
          far.push_back(boundaries_[other]);
        }
      }
      far_ranks += far.size();
      const FarField field{far, TreeOptions{parameters_}};
      add(me, field.view(), Origin::received);
    }
  }

  [[nodiscard]] std::vector<Body> gathered() const {
    std::vector<Body> all;
    for (const auto& part : bodies_) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  std::size_t let_bytes = 0;
  std::size_t far_ranks = 0;
  ForceSums sums;

 private:
  void add(std::uint32_t rank, const TreeView& view, Origin origin) {
    add_forces(view,
               origin,
               {bodies_[rank], trees_[rank]},
               trees_[rank].batches(),
               ForceOptions{parameters_},
               workspace_,
               sums);
  }

  Parameters parameters_;
  std::vector<std::vector<Body>> bodies_;
  std::vector<Tree> trees_;
  std::vector<Boundary> boundaries_;
  ForceWorkspace workspace_;
};

class LetForces : public testing::TestWithParam<std::uint32_t> {
 protected:
  static double error_of(const std::vector<Body>& bodies, const Parameters& parameters, const char* bodies_name) {
    Ranks ranks{bodies, GetParam(), parameters};
    ranks.compute();
    std::vector<Body> all = ranks.gathered();
    std::ranges::sort(all, {}, &Body::id);
    static std::map<std::string, std::vector<Vector>> references;  // summed once, not for each number of ranks
    std::vector<Vector>& reference = references[bodies_name];
    if (reference.empty()) {
      reference = test::direct_accelerations(all);
    }
    const double error = test::rms_error(all, reference);
    const char* order = parameters.order == Order::monopole ? "monopole" : "quadrupole";
    std::printf(
        "%s, %s, %u ranks: rms error %.2e, %zu bytes of trees a rank, %zu far pairs, %.0f interactions a body\n",
        bodies_name,
        order,
        GetParam(),
        error,
        ranks.let_bytes / GetParam(),
        ranks.far_ranks,
        static_cast<double>(ranks.sums.body_body + ranks.sums.body_cell) / static_cast<double>(all.size()));
    return error;
  }
};

TEST_P(LetForces, of_monopoles_are_within_5e_3_for_a_ring) {
  EXPECT_LT(error_of(ring_of(10000), {.order = Order::monopole}, "ring"), 5e-3);
}
TEST_P(LetForces, of_quadrupoles_are_within_1e_3_for_a_ring) {
  EXPECT_LT(error_of(ring_of(10000), {}, "ring"), 1e-3);
}
TEST_P(LetForces, of_monopoles_are_within_5e_3_for_a_sphere) {
  EXPECT_LT(error_of(make_sphere(10000, 1, 1, 7), {.order = Order::monopole}, "sphere"), 5e-3);
}
TEST_P(LetForces, of_quadrupoles_are_within_1e_3_for_a_sphere) {
  EXPECT_LT(error_of(make_sphere(10000, 1, 1, 7), {}, "sphere"), 1e-3);
}
TEST_P(LetForces, are_direct_for_theta_0) {
  EXPECT_LT(error_of(make_sphere(2000, 1, 1, 7), {.theta = 0}, "small sphere"),
            1e-12);  // the inverse root of the fastest kernel: 6e-13
}
INSTANTIATE_TEST_SUITE_P(Ranks, LetForces, testing::Values(1, 2, 3, 4, 7, 24));

TEST(Let, carries_every_contact_between_ranks) {
  std::vector<Body> bodies = ring_of(4000);
  Parameters parameters;
  parameters.collision_radius = 0.02;  // some hundred contacts a body
  const auto contacts = [&](std::uint32_t count) {
    Ranks ranks{bodies, count, parameters};
    ranks.compute();
    return ranks.sums;
  };
  const ForceSums one = contacts(1);
  const ForceSums five = contacts(5);
  EXPECT_GT(one.contacts, 4000U);
  EXPECT_EQ(five.contacts, one.contacts);
  EXPECT_NEAR(five.spring_energy, one.spring_energy, 1e-12 * one.spring_energy);
  EXPECT_NEAR(five.dissipation_rate, one.dissipation_rate, 1e-9 * one.dissipation_rate);
}

TEST(Let, of_a_rank_without_bodies_is_empty_and_valid) {
  std::vector<Body> none;
  std::vector<Body> some = ring_of(1000);
  Tree empty;
  empty.build(none, {});
  Tree full;
  full.build(some, {});
  EXPECT_FALSE(needs_let(make_boundary(empty), make_boundary(full)));
  EXPECT_FALSE(needs_let(make_boundary(full), make_boundary(empty)));
  EXPECT_TRUE(is_valid(make_boundary(empty)));
  const Bytes let = make_let(empty, make_boundary(full));
  EXPECT_EQ(open_let(let, false).value().root_count, 0U);
  EXPECT_EQ(open_let(make_let(full, make_boundary(empty)), false).value().root_count, 0U);
}

/// A valid tree to damage.
class DamagedLet : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<Body> bodies = make_sphere(500, 1, 1, 3);
    Tree tree;
    tree.build(bodies, {});
    let_ = make_let(tree, make_boundary(tree));
    ASSERT_TRUE(open_let(let_, false));
  }
  Node& node(std::size_t i) { return reinterpret_cast<Node*>(let_.data() + sizeof(LetHeader))[i]; }
  std::string trouble() {
    auto opened = open_let(let_, false);
    return opened ? "none" : opened.error().what();
  }
  Bytes let_;
};

TEST_F(DamagedLet, is_refused_when_it_is_cut_short) {
  for (std::size_t keep : {std::size_t{0}, std::size_t{10}, sizeof(LetHeader), let_.size() - 1}) {
    EXPECT_FALSE(open_let(std::span{let_}.first(keep), false)) << keep;
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
TEST_F(DamagedLet, is_refused_when_contacts_need_velocities) {
  EXPECT_FALSE(open_let(let_, true));
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
}  // namespace ring
