// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/system.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <numbers>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "plait/particles/steps/leapfrog.hpp"
#include "plait/testing/run_program.hpp"

#include "data/leaks_allowed.hpp"
#include "particles/samples.hpp"

namespace plait::particles::system_test {
namespace {

using test::Sample;

constexpr double time_step = 1.0 / 64;
/// With more ranks, far ones act in blocks.
constexpr std::uint32_t gathered_max = 32;

struct Job {
  std::size_t count = 1'000;
  std::uint32_t ranks = 1;
  std::uint32_t workers = 1;
  int steps = 0;
  SystemOptions system;
  LongRangeOptions force;
};

/// What all ranks have in the end, by id.
struct Outcome {
  std::vector<Vector> positions;
  std::vector<Vector> accelerations;
  std::vector<double> potentials;
  std::vector<std::size_t> sizes;
  StepTimes times;
};

void add_motion(System& system, const Sample& sample) {
  add_leapfrog(system, {sample.velocity, sample.acceleration, time_step});
}

/// Each rank begins with an equal share of a sphere.
Outcome compute(const Job& job) {
  Outcome outcome;
  outcome.positions.resize(job.count);
  outcome.accelerations.resize(job.count);
  outcome.potentials.resize(job.count);
  outcome.sizes.resize(job.ranks);
  std::mutex mutex;
  plait::test::run_program({.ranks = job.ranks}, {.worker_count = job.workers}, [&](Runtime& runtime) {
    const std::size_t rank = runtime.self().value();
    Sample sample;
    test::add_sphere(sample, job.count, job.count * rank / job.ranks, job.count * (rank + 1) / job.ranks);
    System system{runtime.messages(), runtime.scheduler(), sample.store, job.system};
    LongRangeOptions force = job.force;
    force.charge = sample.mass;
    force.acceleration = sample.acceleration;
    force.potential = sample.potential;
    force.summaries_gathered_max = gathered_max;
    system.add_long_range(force);
    add_motion(system, sample);
    system.update();
    for (int step = 0; step < job.steps; ++step) {
      system.step();
    }
    const std::lock_guard lock{mutex};
    for (std::size_t i = 0; i < sample.store.size(); ++i) {
      const std::uint64_t id = sample.store.ids()[i];
      outcome.positions[id] = sample.store.positions()[i];
      outcome.accelerations[id] = sample.store[sample.acceleration][i];
      outcome.potentials[id] = sample.store[sample.potential][i];
    }
    outcome.sizes[rank] = sample.store.size();
    outcome.times.let_count += system.take_times().let_count;
  });
  return outcome;
}

double largest_difference(const std::vector<Vector>& a, const std::vector<Vector>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, length(a[i] - b[i]));
  }
  return largest;
}

/// Summed once for all tests.
const std::vector<Vector>& direct(std::size_t count) {
  static std::map<std::size_t, std::vector<Vector>> known;
  std::vector<Vector>& result = known[count];
  if (result.empty()) {
    Sample sample;
    test::add_sphere(sample, count);
    result = test::direct_accelerations(sample);
  }
  return result;
}

class OnRanks : public testing::TestWithParam<std::tuple<std::uint32_t, std::uint32_t>> {
 protected:
  [[nodiscard]] Job job() const { return {.ranks = std::get<0>(GetParam()), .workers = std::get<1>(GetParam())}; }
};

TEST_P(OnRanks, forces_without_cells_are_the_direct_sum_in_every_mode) {
  for (const LetMode mode : {LetMode::all_to_all, LetMode::exact, LetMode::fast}) {
    Job sphere = job();
    sphere.force.theta = 0;
    sphere.force.lets = mode;
    const Outcome outcome = compute(sphere);
    EXPECT_LT(test::rms_error(outcome.accelerations, direct(sphere.count)), 1e-12);
  }
}

TEST_P(OnRanks, forces_are_within_their_error_of_the_direct_sum_in_every_mode) {
  for (const LetMode mode : {LetMode::all_to_all, LetMode::exact, LetMode::fast}) {
    Job sphere = job();
    sphere.count = 4'000;
    sphere.force.lets = mode;
    EXPECT_LT(test::rms_error(compute(sphere).accelerations, direct(sphere.count)), 1e-3);
    sphere.force.order = Order::monopole;
    EXPECT_LT(test::rms_error(compute(sphere).accelerations, direct(sphere.count)), 5e-3);
  }
}

TEST_P(OnRanks, those_who_need_only_a_root_get_the_same_forces_without_a_tree) {
  Job sphere = job();
  sphere.force.theta = 1.5;
  sphere.force.lets = LetMode::all_to_all;
  const Outcome all = compute(sphere);
  sphere.force.lets = LetMode::exact;
  const Outcome exact = compute(sphere);
  if (sphere.ranks <= gathered_max) {
    EXPECT_LT(largest_difference(all.accelerations, exact.accelerations), 1e-12);
  } else {  // blocks of far ranks act as one
    EXPECT_LT(test::rms_error(exact.accelerations, direct(sphere.count)),
              1.2 * test::rms_error(all.accelerations, direct(sphere.count)));
  }
  EXPECT_EQ(all.times.let_count, sphere.ranks * (sphere.ranks - 1));
  EXPECT_LE(exact.times.let_count, all.times.let_count);
}

TEST_P(OnRanks, nearest_images_act_within_the_cutoff_in_every_mode) {
  for (const LetMode mode : {LetMode::all_to_all, LetMode::exact, LetMode::fast}) {
    Job sphere = job();
    sphere.system.space = {.root = {{-1, -1, -1}, {1, 1, 1}}, .periodic = {true, false, true}};
    sphere.force.lets = mode;
    sphere.force.theta = 0;
    sphere.force.cutoff = 0.4;
    Sample sample;
    test::add_sphere(sample, sphere.count);
    const std::vector<Vector> expected = test::bounded_accelerations(sample, {2, 0, 2}, 0.4);
    EXPECT_LT(largest_difference(compute(sphere).accelerations, expected), 1e-10);
  }
}

TEST_P(OnRanks, steps_are_those_of_one_rank) {
  Job sphere = job();
  sphere.count = 300;
  sphere.steps = 10;
  sphere.force.theta = 0;
  sphere.force.softening = 0.05;
  Job alone = sphere;
  alone.ranks = alone.workers = 1;
  EXPECT_LT(largest_difference(compute(sphere).positions, compute(alone).positions), 1e-12);
}

TEST_P(OnRanks, trees_kept_for_some_steps_give_nearly_the_same_motion) {
  Job sphere = job();
  sphere.steps = 8;
  sphere.force.softening = 0.05;
  const Outcome anew = compute(sphere);
  sphere.system.steps_between_trees = 4;
  const Outcome kept = compute(sphere);
  EXPECT_LT(largest_difference(anew.positions, kept.positions), 1e-4);
  EXPECT_LT(test::rms_error(kept.accelerations, anew.accelerations), 2e-3);
}

TEST_P(OnRanks, lists_kept_with_their_trees_give_nearly_the_same_motion_as_fresh_ones) {
  Job sphere = job();
  sphere.steps = 8;
  sphere.force.softening = 0.05;
  sphere.system.steps_between_trees = 4;
  const Outcome fresh = compute(sphere);
  sphere.force.keeps_lists = true;
  const Outcome kept = compute(sphere);
  EXPECT_LT(largest_difference(fresh.positions, kept.positions), 1e-4);
  EXPECT_LT(test::rms_error(kept.accelerations, fresh.accelerations), 2e-3);
}

TEST_P(OnRanks, forces_with_sizes_measured_at_start_are_within_their_error_of_the_direct_sum) {
  Job sphere = job();
  sphere.count = 2'000;
  sphere.force.measures_sizes = true;
  EXPECT_LT(test::rms_error(compute(sphere).accelerations, direct(sphere.count)), 1e-3);
}

TEST_P(OnRanks, forces_with_an_angle_chosen_for_their_error_are_within_it_of_the_direct_sum) {
  Job sphere = job();
  if (sphere.ranks > gathered_max) {  // then the error of all_to_all, which has no blocks, is 6e-3, too
    GTEST_SKIP() << "the 60 bodies of a rank are too few to measure an angle";
  }
  sphere.count = 4'000;
  sphere.force.force_error = 5e-4;  // the angles of ranks differ
  EXPECT_LT(test::rms_error(compute(sphere).accelerations, direct(sphere.count)), 7e-4);
}

TEST(System, keeps_no_lists_where_near_pairs_are_to_be_found) {
  EXPECT_THROW((void)make_long_range({.near_radius = 0.1, .keeps_lists = true}), Error);
}

TEST_P(OnRanks, share_the_particles_and_lose_none_while_they_move) {
  Job sphere = job();
  sphere.steps = 12;
  sphere.force.softening = 0.05;
  const Outcome outcome = compute(sphere);
  std::size_t sum = 0;
  for (const std::size_t size : outcome.sizes) {
    sum += size;
    EXPECT_GT(size, sphere.count / sphere.ranks / 3);
    EXPECT_LT(size, sphere.count / sphere.ranks * 2 + 1);
  }
  EXPECT_EQ(sum, sphere.count);
}

/// Counts the neighbours of each particle, and sums up how far they are.
TEST_P(OnRanks, short_range_sums_meet_every_near_pair_once_also_through_periodic_sides) {
  constexpr float reach = 0.3F;
  const Space space{.root = {{-1, -1, -1}, {1, 1, 1}}, .periodic = {true, true, true}};
  const Job sphere = job();
  std::mutex mutex;
  std::vector<float> found(sphere.count);
  plait::test::run_program({.ranks = sphere.ranks}, {.worker_count = sphere.workers}, [&](Runtime& runtime) {
    const std::size_t rank = runtime.self().value();
    Sample sample;
    const Field<float> reaches = sample.store.add_field<float>("reach");
    const Field<float> sums = sample.store.add_field<float>("sum");
    test::add_sphere(
        sample, sphere.count, sphere.count * rank / sphere.ranks, sphere.count * (rank + 1) / sphere.ranks);
    std::ranges::fill(sample.store[reaches], reach);
    System system{runtime.messages(), runtime.scheduler(), sample.store, {.space = space}};
    system.add_short_range({.reach = reaches}, {sums}, [&](const Block& block) {
      for (std::size_t i = 0; i < block.targets.size(); ++i) {
        float sum = 0;
        for (std::size_t j = 0; j < block.sources.size(); ++j) {
          const float dx = block.sources.x()[j] - block.targets.x()[i];
          const float dy = block.sources.y()[j] - block.targets.y()[i];
          const float dz = block.sources.z()[j] - block.targets.z()[i];
          const float r2 = dx * dx + dy * dy + dz * dz;
          sum += r2 < reach * reach ? 1 + std::sqrt(r2) : 0;
        }
        sample.store[sums][block.targets.places()[i]] += sum;
      }
    });
    system.update();
    system.step();
    const std::lock_guard lock{mutex};
    for (std::size_t i = 0; i < sample.store.size(); ++i) {
      found[sample.store.ids()[i]] = sample.store[sums][i];
    }
  });
  Sample all;
  test::add_sphere(all, sphere.count);
  for (std::size_t i = 0; i < sphere.count; ++i) {
    double expected = 0;
    for (std::size_t j = 0; j < sphere.count; ++j) {
      const double r = length(space.nearest(all.store.positions()[j] - all.store.positions()[i]));
      expected += r < static_cast<double>(reach) ? 1 + r : 0;
    }
    ASSERT_NEAR(static_cast<double>(found[i]), expected, 1e-3) << i;
  }
}

TEST_P(OnRanks, forces_in_a_periodic_box_are_those_of_nearest_images_in_every_mode) {
  const Space space{.root = {{-1, -1, -1}, {1, 1, 1}}, .periodic = {true, true, true}};
  Sample all;
  test::add_sphere(all, 1'000);
  std::vector<Vector> expected(1'000);
  constexpr double cutoff = 0.6;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (std::size_t j = 0; j < expected.size(); ++j) {
      const Vector d = space.nearest(all.store.positions()[j] - all.store.positions()[i]);
      const double r = length(d);
      if (i != j && r < cutoff) {
        expected[i] += (1e-3 / (r * r * r)) * d;
      }
    }
  }
  for (const LetMode mode : {LetMode::all_to_all, LetMode::exact, LetMode::fast}) {
    Job sphere = job();
    sphere.system.space = space;
    sphere.force.theta = 0;
    sphere.force.cutoff = cutoff;
    sphere.force.lets = mode;
    EXPECT_LT(test::rms_error(compute(sphere).accelerations, expected), 1e-10);
  }
}

INSTANTIATE_TEST_SUITE_P(Counts,
                         OnRanks,
                         testing::Values(std::tuple{1U, 1U},
                                         std::tuple{1U, 2U},
                                         std::tuple{2U, 1U},
                                         std::tuple{3U, 1U},
                                         std::tuple{4U, 2U},
                                         std::tuple{7U, 1U},
                                         std::tuple{64U, 1U}),
                         [](const auto& counts) {
                           return std::to_string(std::get<0>(counts.param)) + "_ranks_" +
                                  std::to_string(std::get<1>(counts.param)) + "_workers";
                         });

TEST(System, of_fewer_particles_than_ranks_goes_on) {
  const Outcome outcome = compute({.count = 2, .ranks = 4, .steps = 3, .force = {.softening = 0.1}});
  EXPECT_GT(length(outcome.accelerations[0]), 0);
  EXPECT_LT(length(outcome.accelerations[0] + outcome.accelerations[1]), 1e-12);
}

TEST(System, hands_near_pairs_to_the_program_across_ranks) {
  constexpr double radius = 0.2;
  constexpr std::size_t count = 500;
  std::mutex mutex;
  double pairs = 0;
  double wrong = 0;
  plait::test::run_program({.ranks = 3}, {}, [&](Runtime& runtime) {
    const std::size_t rank = runtime.self().value();
    Sample sample;
    test::add_sphere(sample, count, count * rank / 3, count * (rank + 1) / 3);
    System system{runtime.messages(), runtime.scheduler(), sample.store};
    LongRangeOptions force{.charge = sample.mass, .acceleration = sample.acceleration, .potential = sample.potential};
    force.near_radius = radius;
    force.near_sums = 2;
    force.travels = {Particles::id, sample.velocity};
    force.near = [&](const NearPairs& near) {
      const auto* velocities = reinterpret_cast<const Vector*>(near.view.columns[1]);
      for (const std::uint32_t source : near.sources) {
        const Vector& p = near.view.sources[source].position;
        near.sums[0] += 1;
        near.sums[1] += velocities[source] == Vector{p.y, -p.x, 0} ? 0 : 1;
      }
    };
    LongRange& gravity = system.add_long_range(force);
    system.update();
    system.update();
    const std::lock_guard lock{mutex};
    pairs += gravity.near_sums()[0];
    wrong += gravity.near_sums()[1];
  });
  Sample all;
  test::add_sphere(all, count);
  double expected = 0;
  for (const Vector& a : all.store.positions()) {
    for (const Vector& b : all.store.positions()) {
      expected += &a != &b && dot(a - b, a - b) < radius * radius ? 1 : 0;
    }
  }
  EXPECT_EQ(pairs, expected);
  EXPECT_EQ(wrong, 0);
}

/// Whom each particle has within `reach`, and how all pull each other, when `move` has placed them; by id.
struct Met {
  std::vector<float> neighbours;
  std::vector<Vector> accelerations;
};
Met meet(std::size_t count, const Space& space, const std::function<void(Sample&)>& move) {
  constexpr std::uint32_t ranks = 3;
  Met met{std::vector<float>(count), std::vector<Vector>(count)};
  std::mutex mutex;
  plait::test::run_program({.ranks = ranks}, {}, [&](Runtime& runtime) {
    const std::size_t rank = runtime.self().value();
    Sample sample;
    const Field<float> reach = sample.store.add_field<float>("reach");
    const Field<float> neighbours = sample.store.add_field<float>("neighbours");
    test::add_sphere(sample, count, count * rank / ranks, count * (rank + 1) / ranks);
    std::ranges::fill(sample.store[reach], 0.3F);
    move(sample);
    System system{runtime.messages(), runtime.scheduler(), sample.store, {.space = space}};
    system.add_long_range(
        {.charge = sample.mass, .acceleration = sample.acceleration, .potential = sample.potential, .softening = 0.1});
    system.add_short_range({.reach = reach}, {neighbours}, [&](const Block& block) {
      for (std::size_t i = 0; i < block.targets.size(); ++i) {
        for (std::size_t j = 0; j < block.sources.size(); ++j) {
          const float dx = block.sources.x()[j] - block.targets.x()[i];
          const float dy = block.sources.y()[j] - block.targets.y()[i];
          const float dz = block.sources.z()[j] - block.targets.z()[i];
          sample.store[neighbours][block.targets.places()[i]] += dx * dx + dy * dy + dz * dz < 0.09F ? 1 : 0;
        }
      }
    });
    system.update();
    system.step();
    const std::lock_guard lock{mutex};
    for (std::size_t i = 0; i < sample.store.size(); ++i) {
      met.neighbours[sample.store.ids()[i]] = sample.store[neighbours][i];
      met.accelerations[sample.store.ids()[i]] = sample.store[sample.acceleration][i];
    }
  });
  return met;
}

TEST(System, goes_on_with_all_particles_at_one_place) {
  const Met met = meet(300, {}, [](Sample& sample) { std::ranges::fill(sample.store.positions(), Vector{1, 2, 3}); });
  for (std::size_t i = 0; i < 300; ++i) {
    EXPECT_EQ(met.neighbours[i], 300);
    EXPECT_LT(length(met.accelerations[i]), 1e-12);
  }
}

TEST(System, goes_on_in_a_box_that_is_a_single_cell) {
  const Space box{.root = {{-1, -1, -1}, {1, 1, 1}}, .periodic = {true, true, true}};
  const Met met = meet(8, box, [](Sample& sample) {
    for (std::size_t i = 0; i < sample.store.size(); ++i) {
      const auto id = static_cast<double>(sample.store.ids()[i]);
      sample.store.positions()[i] = {0.99 - 0.02 * id, -1, 1 - 1e-9};  // on both sides of corners
    }
  });
  EXPECT_EQ(met.neighbours, std::vector<float>(8, 8));
}

TEST(System, goes_on_when_a_particle_runs_away) {
  constexpr std::size_t count = 2'000;
  constexpr std::uint64_t runaway = 7;
  Sample all;
  test::add_sphere(all, count);
  for (const double place : {50.0, 1e5, 1e12}) {
    const Vector away{place, -place, 2 * place};
    const Met met = meet(count, {}, [&](Sample& sample) {
      const auto found = std::ranges::find(sample.store.ids(), runaway);
      if (found != sample.store.ids().end()) {
        sample.store.positions()[static_cast<std::size_t>(found - sample.store.ids().begin())] = away;
      }
    });
    EXPECT_EQ(met.neighbours[runaway], 1);
    EXPECT_NEAR(length(met.accelerations[runaway]), 1 / dot(away, away), 0.1 / dot(away, away));
    all.store.positions()[runaway] = away;
    EXPECT_LT(test::rms_error(met.accelerations, test::direct_accelerations(all, 0.1)), 1e-3);
  }
}

TEST(System, does_not_take_messages_of_another) {
  plait::test::run_program({.ranks = 2}, {}, [&](Runtime& runtime) {
    std::vector<Sample> samples(2);
    std::vector<std::unique_ptr<System>> systems;
    std::vector<std::uint32_t> claimed{runtime.messages().claim_comms(1)[0].value()};
    for (Sample& sample : samples) {
      test::add_sphere(sample, 20, 10 * runtime.self().value(), 10 * runtime.self().value() + 10);
      systems.push_back(std::make_unique<System>(runtime.messages(), runtime.scheduler(), sample.store));
      systems.back()->add_long_range(
          {.charge = sample.mass, .acceleration = sample.acceleration, .potential = sample.potential});
      claimed.push_back(runtime.messages().claim_comms(1)[0].value());
    }
    EXPECT_EQ(claimed[1] - claimed[0], 8U) << "five groups that cut, exchanges, the interaction";
    EXPECT_EQ(claimed[2] - claimed[1], 8U);
    systems[0]->update();
    systems[1]->update();
    EXPECT_EQ(samples[0].store.size(), samples[1].store.size());
  });
}

class NowhereTest : public testing::TestWithParam<double> {};

TEST_P(NowhereTest, stops_all_ranks_and_names_the_particle) {
  std::vector<std::string> sentences(2);
  try {
    plait::test::run_program({.ranks = 2}, {}, [&](Runtime& runtime) {
      const data::test::LeaksAllowed leaks;
      Sample sample;
      const std::size_t rank = runtime.self().value();
      test::add_sphere(sample, 20, 10 * rank, 10 * rank + 10);
      if (rank == 1) {
        sample.store.positions()[3].x = GetParam();
      }
      System system{runtime.messages(), runtime.scheduler(), sample.store};
      system.add_long_range(
          {.charge = sample.mass, .acceleration = sample.acceleration, .potential = sample.potential});
      try {
        system.update();
      } catch (const Error& error) {
        sentences[rank] = error.what();
        throw;
      }
    });
  } catch (const Error&) {
    // both are checked below
  }
  for (const std::string& sentence : sentences) {
    EXPECT_NE(sentence.find("particle 13 is at"), std::string::npos) << sentence;
  }
}

INSTANTIATE_TEST_SUITE_P(System,
                         NowhereTest,
                         testing::Values(std::numeric_limits<double>::quiet_NaN(),
                                         std::numeric_limits<double>::infinity(),
                                         -std::numeric_limits<double>::infinity()),
                         [](const auto& place) {
                           return place.index == 0 ? "nan" : place.index == 1 ? "infinite" : "negative_infinite";
                         });

}  // namespace
}  // namespace plait::particles::system_test
