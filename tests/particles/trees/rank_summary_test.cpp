// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/rank_summary.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/bytes.hpp"
#include "plait/particles/trees/cell_moments.hpp"
#include "plait/particles/trees/tree_build.hpp"

#include "particles/samples.hpp"

namespace plait::particles::rank_summary_test {
namespace {

using test::Sample;

/// Part `part` of `parts` of a sphere, each with a box and a velocity of its own.
Sample part_of_sphere(std::size_t part, std::size_t parts) {
  constexpr std::size_t count = 1200;
  Sample sample;
  test::add_sphere(sample, count, count * part / parts, count * (part + 1) / parts);
  for (std::size_t i = 0; i < sample.store.size(); ++i) {
    sample.store.positions()[i].x += 3 * static_cast<double>(part);
    sample.store[sample.velocity][i].x += static_cast<double>(part);
  }
  return sample;
}

void add_all(const Sample& from, Sample& to) {
  for (std::size_t i = 0; i < from.store.size(); ++i) {
    const std::size_t place = to.store.add(1);
    to.store.positions()[place] = from.store.positions()[i];
    to.store[to.mass][place] = from.store[from.mass][i];
    to.store[to.velocity][place] = from.store[from.velocity][i];
  }
}

/// The summaries of trees over `count` parts, and the tree over all of their particles.
struct Parts {
  Parts(std::size_t count, TreeOptions wanted, bool alternates = false) : options{std::move(wanted)}, rules{options} {
    Sample all;
    for (std::size_t part = 0; part < count; ++part) {
      Sample sample = part_of_sphere(part, count);
      options.charge = sample.mass;
      if (alternates) {
        for (std::size_t i = 0; i < sample.store.size(); ++i) {
          sample.store[sample.mass][i] *= i % 3 == 0 ? -1 : 1;
        }
      }
      Tree tree;
      build_tree(tree, sample.store, options);
      rows.resize(rows.size() + rules.row_bytes());
      rules.write(tree, std::span{rows}.last(rules.row_bytes()));
      add_all(sample, all);
    }
    build_tree(whole, all.store, options);
    joined.resize(rules.row_bytes());
    rules.join(rows, joined);
  }

  TreeOptions options;
  TreeSummaries rules;
  Bytes rows;
  Tree whole;
  Bytes joined;
};

TEST(RankSummary, of_a_block_is_that_of_a_tree_over_all_its_particles) {
  const Parts parts{4, {}};
  const RankSummary& found = TreeSummaries::summary(parts.joined);
  const RankSummary expected = summary_of(parts.whole);
  EXPECT_EQ(found.body_count, expected.body_count);
  EXPECT_NEAR(found.root.mass, expected.root.mass, 1e-6);
  EXPECT_NEAR(found.weight, expected.weight, 1e-6);
  EXPECT_LT(length(found.root.center - expected.root.center), 1e-6);
  EXPECT_NEAR(found.root.quadrupole.xx, expected.root.quadrupole.xx, 1e-4 * std::abs(expected.root.quadrupole.xx));
  EXPECT_NEAR(found.root.quadrupole.yy, expected.root.quadrupole.yy, 1e-4 * std::abs(expected.root.quadrupole.xx));
  EXPECT_NEAR(found.root.quadrupole.yz, expected.root.quadrupole.yz, 1e-4 * std::abs(expected.root.quadrupole.xx));
  EXPECT_NEAR(found.root.opening2, expected.root.opening2, 1e-3 * static_cast<double>(expected.root.opening2));
  EXPECT_EQ(found.box.low, expected.box.low);
  EXPECT_EQ(found.box.high, expected.box.high);
  EXPECT_EQ(found.root.kind(), NodeKind::sealed);
  EXPECT_TRUE(is_valid(found));
}

TEST(RankSummary, of_a_block_has_the_dipole_of_charges_of_both_signs) {
  const Parts parts{3, {.signs = ChargeSigns::both}, true};
  const RankSummary& found = TreeSummaries::summary(parts.joined);
  const RankSummary expected = summary_of(parts.whole);
  EXPECT_GT(length({static_cast<double>(expected.dipole.x), 0, 0}), 1e-3);
  EXPECT_NEAR(found.dipole.x, expected.dipole.x, 1e-5);
  EXPECT_NEAR(found.dipole.y, expected.dipole.y, 1e-5);
  EXPECT_NEAR(found.dipole.z, expected.dipole.z, 1e-5);
  EXPECT_NEAR(found.weight, expected.weight, 1e-6);
  Dipole moment;
  ASSERT_EQ(parts.rules.moments(parts.joined).size(), sizeof moment);
  std::memcpy(&moment, parts.rules.moments(parts.joined).data(), sizeof moment);
  EXPECT_EQ(moment.x, found.dipole.x);
}

struct Count {
  double bodies = 0;
  Vector first;  ///< The sum of offsets.
};

TEST(RankSummary, of_a_block_has_the_moments_that_the_program_defines) {
  const CellMoments moments = make_moments<Count>(
      [](Count& sum, const Particles& /*store*/, Particles::Index /*place*/, const Vector& offset) {
        sum.bodies += 1;
        sum.first += offset;
      },
      [](Count& sum, const Count& child, const Vector& offset) {
        sum.bodies += child.bodies;
        sum.first += child.first + child.bodies * offset;
      });
  const Parts parts{4, {.moments = moments}};
  Count found;
  Count expected;
  std::memcpy(&found, parts.rules.moments(parts.joined).data(), sizeof found);
  std::memcpy(&expected, parts.whole.view().moments.data(), sizeof expected);
  EXPECT_EQ(found.bodies, 1200);
  EXPECT_EQ(expected.bodies, 1200);
  EXPECT_LT(length(found.first - expected.first), 1e-6);
}

TEST(RankSummary, of_a_block_leaves_out_ranks_without_particles) {
  Parts parts{2, {}};
  const Bytes before = parts.joined;
  const RankSummary none = summary_of(Tree{});
  parts.rows.resize(parts.rows.size() + parts.rules.row_bytes());
  std::memcpy(parts.rows.data() + 2 * parts.rules.row_bytes(), &none, sizeof none);
  parts.rules.join(parts.rows, parts.joined);
  EXPECT_EQ(parts.joined, before);
  const SummaryRow empty = SummaryRow{parts.rows}.last(parts.rules.row_bytes());
  parts.rules.join(empty, parts.joined);
  EXPECT_TRUE(TreeSummaries::summary(parts.joined).is_empty());
  EXPECT_TRUE(parts.rules.suffices(empty, SummaryRow{before}));
}

/// The angle of a rank that measured a smaller one holds for its block.
TEST(RankSummary, of_a_block_has_the_smallest_opening_angle) {
  Parts parts{2, {.theta = 0.5}};
  const float before = TreeSummaries::summary(parts.joined).root.opening2;
  RankSummary second = TreeSummaries::summary(SummaryRow{parts.rows}.last(parts.rules.row_bytes()));
  second.theta = 0.25F;
  std::memcpy(parts.rows.data() + parts.rules.row_bytes(), &second, sizeof second);
  parts.rules.join(parts.rows, parts.joined);
  EXPECT_EQ(TreeSummaries::summary(parts.joined).theta, 0.25F);
  EXPECT_NEAR(TreeSummaries::summary(parts.joined).root.opening2, 4 * before, 1e-3 * static_cast<double>(before));
}

TEST(RankSummary, is_near_to_another_if_either_needs_a_tree_of_the_other) {
  const Parts parts{4, {}};
  std::vector<std::uint8_t> are_near(4);
  for (std::size_t i = 0; i < 4; ++i) {
    const SummaryRow one = SummaryRow{parts.rows}.subspan(i * parts.rules.row_bytes(), parts.rules.row_bytes());
    parts.rules.find_near(one, parts.rows, are_near);
    for (std::size_t k = 0; k < 4; ++k) {
      const SummaryRow other = SummaryRow{parts.rows}.subspan(k * parts.rules.row_bytes(), parts.rules.row_bytes());
      const bool is_needed = !parts.rules.suffices(one, other) || !parts.rules.suffices(other, one);
      EXPECT_EQ(are_near[k] != 0, is_needed);
    }
  }
  EXPECT_EQ(are_near.front(), 0);  // 9 edges away
  EXPECT_EQ(are_near.back(), 1);
}

TEST(RankSummary, is_not_valid_when_it_is_not_finite) {
  const Parts parts{1, {}};
  RankSummary summary = TreeSummaries::summary(parts.joined);
  EXPECT_TRUE(is_valid(summary));
  summary.root.center.y = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(is_valid(summary));
}

}  // namespace
}  // namespace plait::particles::rank_summary_test
