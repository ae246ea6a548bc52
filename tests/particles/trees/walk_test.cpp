// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/walk.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "plait/particles/neighbours/cells.hpp"
#include "plait/particles/trees/let.hpp"
#include "plait/particles/trees/tree_build.hpp"
#include "plait/particles/trees/tree_over_cells.hpp"
#include "plait/particles/trees/tuning.hpp"

#include "particles/samples.hpp"

namespace plait::particles::walk_test {
namespace {

using test::Sample;

/// Forces of all on all, into the sample's fields.
WalkSums add_forces(Sample& sample, TreeOptions tree_options, const WalkOptions& options, Kinds targets = {}) {
  Tree tree;
  tree_options.charge = sample.mass;
  build_tree(tree, sample.store, tree_options);
  WalkSpace space;
  const TreeView view = tree.view();
  walk({view, Origin::own_tree},
       {sample.store, tree, targets, sample.acceleration, sample.potential},
       tree.batches(),
       options,
       space);
  return space.sums;
}

double error_of(TreeOptions tree_options, const WalkOptions& options) {
  Sample sample;
  test::add_sphere(sample, 5'000);
  add_forces(sample, tree_options, options);
  return test::rms_error(sample.store[sample.acceleration], test::direct_accelerations(sample, options.softening));
}

TEST(Walk, monopoles_are_within_5e_3_of_the_direct_sum) {
  EXPECT_LT(error_of({.theta = 0.5, .order = Order::monopole}, {}), 5e-3);
}

TEST(Walk, quadrupoles_are_within_1e_3_of_the_direct_sum) {
  EXPECT_LT(error_of({.theta = 0.5, .order = Order::quadrupole}, {}), 1e-3);
}

TEST(Walk, without_cells_gives_the_direct_sum) {
  EXPECT_LT(error_of({.theta = 0}, {.softening = 0.01}), 1e-12);
}

TEST(Walk, over_cells_acts_on_short_time_bins_only) {
  for (const std::uint8_t longest : {std::uint8_t{7}, std::uint8_t{40}}) {
    Sample sample;
    const auto bin = sample.store.add_field<std::uint8_t>("bin");
    test::add_sphere(sample, 3'000);
    for (std::size_t i = 0; i < sample.store.size(); ++i) {
      sample.store[bin][i] = i % 50 == 0 ? 7 : 40;
    }
    std::vector<Particles::Index> order;
    const CellSizes sizes = divide_into_cells(sample.store, {16, 64, 512, 4}, order);
    sample.store.reorder(order);
    Tree tree;
    TreeOverCells{tree}.assign(sample.store, {.charge = sample.mass, .leaf_bodies_max = 4}, sizes);
    tree.refresh();
    const std::vector<Vector> expected = test::direct_accelerations(sample, 0.01);
    WalkSpace space;
    const TreeView view = tree.view();
    walk({view},
         {sample.store, tree, {}, sample.acceleration, sample.potential, BinLimit{bin, longest}},
         tree.batches(),
         {.softening = 0.01},
         space);
    std::vector<Vector> found;
    std::vector<Vector> expected_of_found;
    for (std::size_t i = 0; i < sample.store.size(); ++i) {
      if (sample.store[bin][i] <= longest) {
        found.push_back(sample.store[sample.acceleration][i]);
        expected_of_found.push_back(expected[i]);
      } else {
        ASSERT_EQ(sample.store[sample.acceleration][i], Vector{});
      }
    }
    EXPECT_EQ(found.size(), longest == 7 ? 60U : 3'000U);
    EXPECT_LT(test::rms_error(found, expected_of_found), 1e-3);
  }
}

/// Pairs of ions: far cells are neutral, and forces are small differences of large ones.
TEST(Walk, charges_of_both_signs_are_within_1e_3_of_the_direct_sum) {
  Sample sample;
  test::add_sphere(sample, 5'000);
  for (std::size_t i = 0; i < sample.store.size(); ++i) {
    sample.store[sample.mass][i] *= i % 2 == 0 ? 1 : -1;
  }
  add_forces(sample, {.theta = 0.5, .signs = ChargeSigns::apart}, {});
  EXPECT_LT(test::rms_error(sample.store[sample.acceleration], test::direct_accelerations(sample)), 1e-3);
}

TEST(Walk, kinds_choose_who_pulls_and_who_is_pulled) {
  Sample sample;
  test::add_sphere(sample, 500);
  for (std::size_t i = 0; i < sample.store.size(); ++i) {
    sample.store[Particles::kind][i] = static_cast<std::uint8_t>(i % 2);
  }
  add_forces(sample, {.sources = {1}, .theta = 0}, {}, {0});
  Sample pulling = [&] {
    Sample other;
    for (std::size_t i = 0; i < sample.store.size(); ++i) {
      const std::size_t place = other.store.add(1);
      other.store.positions()[place] = sample.store.positions()[i];
      other.store[other.mass][place] = sample.store[Particles::kind][i] == 1 ? sample.store[sample.mass][i] : 0;
    }
    return other;
  }();
  const std::vector<Vector> expected = test::direct_accelerations(pulling);
  for (std::size_t i = 0; i < sample.store.size(); ++i) {
    const bool is_target = sample.store[Particles::kind][i] == 0;
    const Vector error = sample.store[sample.acceleration][i] - (is_target ? 1.0 : 0.0) * expected[i];
    EXPECT_LT(length(error), 1e-10);
  }
}

TEST(Walk, hands_each_near_pair_to_the_program_from_both_sides) {
  Sample sample;
  test::add_sphere(sample, 1'000);
  constexpr double radius = 0.15;
  std::size_t pairs = 0;
  std::size_t far = 0;
  WalkOptions options;
  options.near = [&](const NearPairs& near) {
    for (const std::uint32_t source : near.sources) {
      ++pairs;
      const Vector d = near.view.sources[source].position - sample.store.positions()[near.target];
      far += dot(d, d) < radius * radius ? 0 : 1;
    }
  };
  add_forces(sample, {.near_radius = radius}, options);
  std::size_t expected = 0;
  for (const Vector& a : sample.store.positions()) {
    for (const Vector& b : sample.store.positions()) {
      expected += dot(a - b, a - b) < radius * radius ? 1 : 0;
    }
  }
  EXPECT_EQ(pairs, expected - sample.store.size());
  EXPECT_EQ(far, 0U);
}

struct BoundedCase {
  Vector period;
  double cutoff;
  double theta;
  Precision precision;
  double error;
};

class BoundedWalk : public testing::TestWithParam<BoundedCase> {};

TEST_P(BoundedWalk, takes_nearest_images_within_the_cutoff) {
  const BoundedCase& bounded = GetParam();
  Sample sample;
  test::add_sphere(sample, 3'000);
  add_forces(sample,
             {.theta = bounded.theta, .cutoff = bounded.cutoff, .period = bounded.period},
             {.precision = bounded.precision});
  const double far = bounded.cutoff > 0 ? bounded.cutoff : 1e9;
  EXPECT_LT(
      test::rms_error(sample.store[sample.acceleration], test::bounded_accelerations(sample, bounded.period, far)),
      bounded.error);
}

INSTANTIATE_TEST_SUITE_P(Spaces,
                         BoundedWalk,
                         testing::Values(BoundedCase{{2, 0, 0}, 0, 0, Precision::full, 1e-11},
                                         BoundedCase{{2, 2, 2}, 0.5, 0, Precision::full, 1e-11},
                                         BoundedCase{{2, 2, 2}, 0.5, 0, Precision::mixed, 1e-4},
                                         BoundedCase{{}, 0.5, 0, Precision::full, 1e-11},
                                         BoundedCase{{2, 2, 2}, 0.7, 0.3, Precision::full, 3e-2},
                                         BoundedCase{{2, 0, 2}, 0.7, 0.3, Precision::mixed, 3e-2},
                                         BoundedCase{{}, 0.7, 0.3, Precision::full, 3e-2}));

TEST(Walk, what_a_rank_is_sent_of_anothers_tree_acts_as_nearest_images_within_the_cutoff) {
  // Without opening angle all that is near enough must come as bodies; what is beyond may stay away.
  const Vector period{2, 2, 2};
  constexpr double cutoff = 0.4;
  Sample whole;
  test::add_sphere(whole, 2'000);
  const std::vector<Vector> expected = test::bounded_accelerations(whole, period, cutoff);
  std::array<Sample, 2> parts;  // left and right
  for (std::size_t i = 0; i < whole.store.size(); ++i) {
    const Vector& position = whole.store.positions()[i];
    Sample& part = parts[position.x < 0 ? 0 : 1];
    const std::size_t place = part.store.add(1);
    part.store.positions()[place] = position;
    part.store.ids()[place] = i;
    part.store[part.mass][place] = whole.store[whole.mass][i];
  }
  TreeOptions options{.charge = whole.mass, .theta = 0};
  options.cutoff = cutoff;
  options.period = period;
  std::array<Tree, 2> trees;
  build_tree(trees[0], parts[0].store, options);
  build_tree(trees[1], parts[1].store, options);
  for (std::size_t self = 0; self < 2; ++self) {
    const Tree& other = trees[1 - self];
    LetPlan plan;
    plan.choose(other, make_boundary(trees[self]));
    Bytes message;
    plan.write(other, message);
    const TreeView received = open_let(message, {}).value();
    EXPECT_LT(received.sources.size(), other.sources().size());
    const TreeView own = trees[self].view();
    Sample& part = parts[self];
    const Targets targets{part.store, trees[self], {}, part.acceleration, part.potential};
    WalkSpace space;
    walk({own, Origin::own_tree}, targets, trees[self].batches(), {}, space);
    walk({received, Origin::received}, targets, trees[self].batches(), {}, space);
    for (std::size_t i = 0; i < part.store.size(); ++i) {
      EXPECT_LT(length(part.store[part.acceleration][i] - expected[part.store.ids()[i]]), 1e-10);
    }
  }
}

TEST(Walk, mixed_precision_is_within_rounding_of_full) {
  Sample full;
  Sample mixed;
  test::add_sphere(full, 5'000);
  test::add_sphere(mixed, 5'000);
  add_forces(full, {}, {.precision = Precision::full, .softening = 1e-3});
  add_forces(mixed, {}, {.precision = Precision::mixed, .softening = 1e-3});
  EXPECT_LT(test::rms_error(mixed.store[mixed.acceleration], full.store[full.acceleration]), 1e-5);
}

TEST(Walk, a_programs_own_kernel_acts_instead_of_gravity) {
  // A force that grows like the distance: moments about the centre of mass give it exactly, whatever theta is.
  for (const Precision precision : {Precision::full, Precision::mixed}) {
    Sample sample;
    test::add_sphere(sample, 2'000);
    WalkOptions options{.precision = precision, .coupling = 2};
    options.kernel = [](const KernelWork& work) {
      const TargetSpan& to = work.targets;
      for (std::size_t i = 0; i < to.count; ++i) {
        for (std::size_t j = 0; j < work.bodies.length; ++j) {
          to.pulls[i].x += work.bodies.mass[j] * (work.bodies.x[j] - to.x[i]);
        }
        for (const CellSpan& list : {work.near_bodies, work.cells}) {
          for (std::size_t j = 0; j < list.length; ++j) {
            to.pulls[i].x += double{list.mass[j]} * (double{list.x[j]} - double{to.near_x[i]});
          }
        }
      }
    };
    add_forces(sample, {.theta = 1}, options);
    Vector center;
    for (std::size_t i = 0; i < sample.store.size(); ++i) {
      center += sample.store[sample.mass][i] * sample.store.positions()[i];
    }
    for (std::size_t i = 0; i < sample.store.size(); ++i) {
      const Vector expected{2 * (center.x - sample.store.positions()[i].x), 0, 0};
      EXPECT_LT(length(sample.store[sample.acceleration][i] - expected), 1e-6);
      EXPECT_EQ(sample.store[sample.potential][i], 0);
    }
  }
}

class KeptLists : public testing::TestWithParam<Precision> {
 protected:
  /// What acts on all, by lists that are kept, or by none.
  std::vector<Vector> forces(WalkLists* lists) {
    std::ranges::fill(sample_.store[sample_.acceleration], Vector{});
    const TreeView view = tree_.view();
    const Targets targets{sample_.store, tree_, {}, sample_.acceleration, sample_.potential};
    space_.sums = {};
    walk({view, Origin::own_tree, lists}, targets, tree_.batches(), options_, space_);
    const auto result = sample_.store[sample_.acceleration];
    return {result.begin(), result.end()};
  }

  Sample sample_;
  Tree tree_;
  WalkSpace space_;
  WalkOptions options_{.precision = GetParam(), .softening = 0.01};
};

TEST_P(KeptLists, give_the_same_sums_without_a_walk_and_nearly_the_same_when_bodies_have_moved) {
  test::add_sphere(sample_, 5'000);
  build_tree(tree_, sample_.store, {.charge = sample_.mass});
  WalkLists lists;
  lists.begin(tree_.batches().size());
  const std::vector<Vector> fresh = forces(nullptr);
  EXPECT_EQ(forces(&lists), fresh);  // notes them
  const std::uint64_t interactions = space_.sums.body_body + space_.sums.body_cell;
  EXPECT_EQ(forces(&lists), fresh);
  EXPECT_EQ(space_.sums.nodes_visited, 0U);
  EXPECT_EQ(space_.sums.body_body + space_.sums.body_cell, interactions);
  for (std::size_t i = 0; i < sample_.store.size(); ++i) {
    sample_.store.positions()[i] += 0.02 * sample_.store[sample_.velocity][i];
  }
  tree_.refresh();
  const std::vector<Vector> moved = forces(nullptr);
  EXPECT_LT(test::rms_error(forces(&lists), moved), 5e-4);
  EXPECT_GT(test::rms_error(fresh, moved), 5e-3);  // positions are those of now
  lists.begin(tree_.batches().size());
  EXPECT_EQ(forces(&lists), moved);
}

INSTANTIATE_TEST_SUITE_P(Precisions, KeptLists, testing::Values(Precision::full, Precision::mixed));

TEST(FastestSizes, are_those_given_or_some_that_have_been_tried) {
  for (const std::size_t count : {0U, 1U, 3'000U}) {
    Sample sample;
    test::add_sphere(sample, count);
    const TreeOptions given{.charge = sample.mass,
                            .near_radius = 0.1,
                            .leaf_bodies_max = 7,
                            .group_bodies_max = 70,
                            .batch_bodies_max = 700};
    std::size_t told = 0;
    const TreeOptions fastest = with_fastest_sizes(
        {sample.store, {}, sample.acceleration, sample.potential}, given, {.near = [&](const NearPairs&) { ++told; }});
    EXPECT_TRUE(count > 0 || fastest.leaf_bodies_max == given.leaf_bodies_max);
    EXPECT_GE(fastest.group_bodies_max, fastest.leaf_bodies_max);
    EXPECT_GE(fastest.batch_bodies_max, fastest.group_bodies_max);
    EXPECT_EQ(fastest.near_radius, given.near_radius);
    EXPECT_EQ(told, 0U);
    EXPECT_EQ(sample.store.size(), count);
  }
}

TEST(FastestSizes, of_reused_lists_leave_the_particles_in_place) {
  Sample sample;
  test::add_sphere(sample, 3'000);
  Vector before;
  for (const Vector& position : sample.store.positions()) {
    before += position;
  }
  const TreeOptions given{.charge = sample.mass};
  const TreeOptions fastest =
      with_fastest_sizes({sample.store, {}, sample.acceleration, sample.potential}, given, {}, 4);
  EXPECT_GE(fastest.group_bodies_max, fastest.leaf_bodies_max);
  EXPECT_EQ(fastest.theta, given.theta);
  Vector after;
  for (const Vector& position : sample.store.positions()) {
    after += position;
  }
  EXPECT_NEAR(length(after - before), 0, 1e-9) << "in another order";
}

TEST(Walk, all_at_one_place_pull_nothing_and_end) {
  Sample sample;
  sample.store.add(1'000);
  for (double& mass : sample.store[sample.mass]) {
    mass = 1;
  }
  add_forces(sample, {}, {});
  for (const Vector& acceleration : sample.store[sample.acceleration]) {
    EXPECT_EQ(acceleration, Vector{});
  }
}

TEST(Walk, a_position_that_is_no_number_is_named_by_the_id_of_its_particle) {
  Sample sample;
  test::add_sphere(sample, 10);
  sample.store.positions()[3].y = std::numeric_limits<double>::quiet_NaN();
  try {
    add_forces(sample, {}, {});
    FAIL() << "it must be refused";
  } catch (const Error& error) {
    EXPECT_NE(std::string{error.what()}.find("particle 3 "), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace plait::particles::walk_test
