// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/time_steps.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "plait/particles/steps/system.hpp"
#include "plait/testing/local_rank.hpp"

#include "data/leaks_allowed.hpp"
#include "particles/samples.hpp"

namespace plait::particles::time_steps_test {
namespace {

using plait::test::LocalRank;
using plait::test::run_on_ranks;
using test::Sample;

constexpr std::size_t count = 400;
constexpr double softening = 0.05;

struct Outcome {
  std::map<std::uint64_t, Vector> positions;
  std::uint64_t steps = 0;
  std::uint64_t updated = 0;
  double longest = 0;
  double time = 0;
};

void note(Outcome& outcome, const StepResult& result) {
  ++outcome.steps;
  outcome.updated += result.updated;
  outcome.longest = std::max(outcome.longest, result.step);
  outcome.time = result.time;
}

/// Declares gravity, and steps by acceleration, shorter near the centre.
void declare(System& system, Sample& sample, const TimeSteps& steps, const std::optional<StepFields>& fields = {}) {
  system.add_long_range({.charge = sample.mass,
                         .acceleration = sample.acceleration,
                         .potential = sample.potential,
                         .softening = softening,
                         .velocity = sample.velocity});
  system.integrate(leapfrog({.velocity = sample.velocity, .acceleration = sample.acceleration}));
  system.limit_steps_by(
      [&sample](const Particles& store, std::span<const Particles::Index> places, std::span<double> most) {
        for (std::size_t k = 0; k < places.size(); ++k) {
          const double by_force = 0.1 * std::sqrt(softening / length(store[sample.acceleration][places[k]]));
          most[k] = std::min({most[k], by_force, 0.05 * length(store.positions()[places[k]])});
        }
      });
  system.take_steps(steps, fields);
}

/// A sphere that turns and contracts by its gravity.
Outcome collapse(std::uint32_t ranks, std::uint32_t workers, const TimeSteps& steps) {
  Outcome outcome;
  std::mutex mutex;
  run_on_ranks({.ranks = ranks}, {.worker_count = workers}, [&](LocalRank& rank) {
    Sample sample;
    const std::size_t self = rank.self().value();
    test::add_sphere(sample, count, count * self / ranks, count * (self + 1) / ranks);
    System system{rank.messages(), rank.scheduler(), sample.store};
    declare(system, sample, steps);
    system.update();
    Outcome mine;
    while (system.time() < 0.5 && !system.is_over()) {
      note(mine, system.step());
    }
    system.synchronise();
    const std::lock_guard lock{mutex};
    for (std::size_t i = 0; i < sample.store.size(); ++i) {
      mine.positions[sample.store.ids()[i]] = sample.store.positions()[i];
    }
    mine.positions.merge(outcome.positions);
    outcome = mine;
  });
  return outcome;
}

/// The rms distance of the same particles.
double difference(const Outcome& a, const Outcome& b) {
  double sum = 0;
  for (const auto& [id, position] : a.positions) {
    const Vector d = position - b.positions.at(id);
    sum += dot(d, d);
  }
  return std::sqrt(sum / static_cast<double>(count));
}

class StepsOnRanks : public testing::TestWithParam<std::tuple<std::uint32_t, std::uint32_t>> {
 protected:
  [[nodiscard]] static Outcome run(const TimeSteps& steps) {
    return collapse(std::get<0>(GetParam()), std::get<1>(GetParam()), steps);
  }
};

TEST_P(StepsOnRanks, equal_steps_are_as_short_as_any_particle_needs_and_reach_the_end) {
  const Outcome fixed = run({.step = 0.5 / 512});
  EXPECT_EQ(fixed.steps, 512U);
  const Outcome equal = run({.lengths = StepLengths::equal, .end = 0.5});
  ASSERT_EQ(equal.positions.size(), count);
  EXPECT_EQ(equal.time, 0.5);
  EXPECT_LE(equal.longest, 1.0 / 128) << "as the innermost particles need";
  EXPECT_LT(difference(equal, fixed), 1e-3);
}

TEST_P(StepsOnRanks, individual_steps_move_particles_as_equal_ones_with_fewer_updates) {
  const Outcome equal = run({.lengths = StepLengths::equal, .end = 0.5});
  const Outcome own = run({.lengths = StepLengths::individual, .end = 0.5});
  ASSERT_EQ(own.positions.size(), count);
  EXPECT_EQ(own.time, 0.5);
  EXPECT_LT(static_cast<double>(own.updated), 0.7 * static_cast<double>(own.steps * count));
  EXPECT_LT(difference(equal, own), 2e-3);
}

TEST_P(StepsOnRanks, no_step_is_longer_than_the_program_allows) {
  const Outcome own = run({.lengths = StepLengths::individual, .end = 0.5, .step_max = 1.0 / 256});
  EXPECT_LE(own.longest, 1.0 / 256);
  const Outcome equal = run({.lengths = StepLengths::equal, .end = 0.5, .step_max = 1.0 / 256});
  EXPECT_LE(equal.longest, 1.0 / 256);
}

std::string name_of_ranks(const testing::TestParamInfo<std::tuple<std::uint32_t, std::uint32_t>>& test) {
  return std::to_string(std::get<0>(test.param)) + "_ranks_" + std::to_string(std::get<1>(test.param)) + "_workers";
}

INSTANTIATE_TEST_SUITE_P(TimeSteps,
                         StepsOnRanks,
                         testing::Values(std::tuple{1U, 1U}, std::tuple{1U, 2U}, std::tuple{3U, 1U}),
                         name_of_ranks);

void expect_oscillations(StepLengths lengths) {
  run_on_ranks({.ranks = 2}, {.worker_count = 1}, [lengths](LocalRank& rank) {
    Particles store;
    const auto velocity = store.add_field<Vector>("velocity");
    const auto acceleration = store.add_field<Vector>("acceleration");
    const auto frequency = store.add_field<double>("frequency");
    for (std::size_t i = 0; i < 40 && rank.self() == Rank{0}; ++i) {
      store.add(1);
      store.ids()[i] = i;
      store.positions()[i] = {1 + static_cast<double>(i), 0, 0};
      store[frequency][i] = 0.5 * std::exp2(static_cast<double>(i % 4));
    }
    System system{rank.messages(), rank.scheduler(), store};
    system.after("spring", [&](Particles& all, std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        all[acceleration][i] = -all[frequency][i] * all[frequency][i] * all.positions()[i];
      }
    });
    system.integrate(leapfrog({.velocity = velocity, .acceleration = acceleration}));
    system.limit_steps_by([&](const Particles& all, std::span<const Particles::Index> places, std::span<double> most) {
      for (std::size_t k = 0; k < places.size(); ++k) {
        const Vector& place = all.positions()[places[k]];
        most[k] = std::min(most[k], 0.02 * std::sqrt(length(place) / length(all[acceleration][places[k]])));
      }
    });
    system.take_steps({.lengths = lengths, .end = 2});
    system.run_until(2);
    EXPECT_TRUE(system.is_over());
    EXPECT_EQ(system.time(), 2);
    for (std::size_t i = 0; i < store.size(); ++i) {
      const double start = 1 + static_cast<double>(store.ids()[i]);
      const double w = store[frequency][i];
      EXPECT_NEAR(store.positions()[i].x / start, std::cos(2 * w), 1e-3) << w;
      EXPECT_NEAR(store[velocity][i].x / (start * w), -std::sin(2 * w), 1e-3) << "synchronous at the end";
    }
  });
}

TEST(TimeSteps, act_on_oscillators_of_different_frequencies_without_interactions) {
  expect_oscillations(StepLengths::equal);
  expect_oscillations(StepLengths::individual);
}

/// The particles of one rank with all fields.
struct Store {
  Sample sample;
  StepFields steps{sample.store};

  [[nodiscard]] Bytes bytes() const {
    Bytes all;
    sample.store.pack(fields(), 0, static_cast<Particles::Index>(sample.store.size()), all);
    return all;
  }
  void take(const Store& other) {
    const auto size = static_cast<Particles::Index>(other.sample.store.size());
    sample.store.add(size);
    sample.store.unpack(fields(), 0, size, other.bytes());
  }

 private:
  [[nodiscard]] std::vector<AnyField> fields() const {
    return {Particles::position,
            Particles::id,
            Particles::kind,
            Particles::cost,
            sample.mass,
            sample.velocity,
            sample.acceleration,
            sample.potential,
            steps.bin,
            steps.bin_seen,
            steps.begin};
  }
};

class SavedOnRanks : public testing::TestWithParam<std::tuple<std::uint32_t, std::uint32_t>> {};

/// Takes some steps, saves them, and takes more beside a run that goes on from there.
void expect_equal_steps(LocalRank& rank, const TimeSteps& steps, const std::function<void(System&)>& add) {
  Store whole;
  const std::size_t self = rank.self().value();
  const std::size_t ranks = rank.messages().rank_count();
  test::add_sphere(whole.sample, count, count * self / ranks, count * (self + 1) / ranks);
  System unbroken{rank.messages(), rank.scheduler(), whole.sample.store};
  declare(unbroken, whole.sample, steps, whole.steps);
  add(unbroken);
  unbroken.update();
  for (int step = 0; step < 10; ++step) {
    unbroken.step();
  }
  const SavedSteps saved = unbroken.save_steps();
  EXPECT_EQ(saved.count, 10U);
  Store rest;
  rest.take(whole);
  System resumed{rank.messages(), rank.scheduler(), rest.sample.store, {.resumed = saved}};
  declare(resumed, rest.sample, steps, rest.steps);
  add(resumed);
  EXPECT_EQ(resumed.time(), unbroken.time());
  for (int step = 0; step < 15; ++step) {
    const StepResult expected = unbroken.step();
    const StepResult result = resumed.step();
    EXPECT_EQ(result.time, expected.time);
    EXPECT_EQ(result.updated, expected.updated);
    EXPECT_EQ(result.made_cells, expected.made_cells);
  }
  EXPECT_EQ(resumed.gather_cuts(), unbroken.gather_cuts());
  EXPECT_TRUE(rest.bytes() == whole.bytes());
}

TEST_P(SavedOnRanks, steps_go_on_bit_for_bit) {
  const auto [ranks, workers] = GetParam();
  const auto add_nothing = [](System&) {};
  const auto add_stage = [](System& system) { system.add_stage({.name = "pause", .work = [](const StageWork&) {}}); };
  run_on_ranks({.ranks = ranks}, {.worker_count = workers}, [&](LocalRank& rank) {
    expect_equal_steps(rank, {.step = 1.0 / 256}, add_nothing);
    expect_equal_steps(rank, {.lengths = StepLengths::equal, .end = 0.5}, add_nothing);
    expect_equal_steps(rank, {.lengths = StepLengths::equal, .end = 0.5}, add_stage);
    expect_equal_steps(rank, {.lengths = StepLengths::individual, .end = 0.5}, add_nothing);
  });
}

INSTANTIATE_TEST_SUITE_P(
    TimeSteps,
    SavedOnRanks,
    testing::Values(std::tuple{1U, 1U}, std::tuple{1U, 2U}, std::tuple{2U, 1U}, std::tuple{2U, 2U}),
    name_of_ranks);

TEST(TimeSteps, refuse_to_go_on_with_others_than_before) {
  run_on_ranks({.ranks = 1}, {}, [](LocalRank& rank) {
    const data::test::LeaksAllowed leaks;
    for (const TimeSteps& steps : {TimeSteps{}, TimeSteps{.lengths = StepLengths::equal, .end = 2}}) {
      Sample sample;
      System system{rank.messages(), rank.scheduler(), sample.store, {.resumed = {{.lengths = StepLengths::equal}}}};
      declare(system, sample, steps);
      EXPECT_THROW(system.step(), Error);
    }
  });
}

/// What a system without interactions reports when one particle needs a step of `needed`.
std::string error_of(const TimeSteps& steps, double needed) {
  return plait::test::errors_on_ranks({.ranks = 1}, {}, [&](LocalRank& rank) {
    const plait::data::test::LeaksAllowed leaks;
    Particles store;
    const auto velocity = store.add_field<Vector>("velocity");
    const auto acceleration = store.add_field<Vector>("acceleration");
    store.add(8);
    System system{rank.messages(), rank.scheduler(), store};
    system.integrate(leapfrog({.velocity = velocity, .acceleration = acceleration}));
    system.limit_steps_by([&](const Particles&, std::span<const Particles::Index> places, std::span<double> most) {
      if (const auto first = std::ranges::find(places, 0U); first != places.end()) {
        most[static_cast<std::size_t>(first - places.begin())] = needed;
      }
    });
    system.take_steps(steps);
    system.step();
  })[0];
}

TEST(TimeSteps, that_do_not_advance_are_refused) {
  run_on_ranks({.ranks = 1}, {}, [](LocalRank& rank) {
    const data::test::LeaksAllowed leaks;
    Sample sample;
    test::add_sphere(sample, 10);
    System still{rank.messages(), rank.scheduler(), sample.store};
    still.take_steps({.step = 0});
    EXPECT_THROW(still.run_until(1), Error);
    System without{rank.messages(), rank.scheduler(), sample.store};
    without.take_steps({.lengths = StepLengths::equal, .end = 1});
    EXPECT_THROW(without.run_until(1), Error);
  });
}

TEST(TimeSteps, that_are_too_short_end_the_run) {
  for (const StepLengths lengths : {StepLengths::equal, StepLengths::individual}) {
    EXPECT_EQ(error_of({.lengths = lengths, .step_min = 1e-6}, 1e-3), "");
    EXPECT_NE(error_of({.lengths = lengths, .step_min = 1e-6}, 1e-7).find("needs a time step of 1e-07"),
              std::string::npos);
    EXPECT_NE(error_of({.lengths = lengths}, std::nan("")).find("needs a time step of nan"), std::string::npos);
  }
}

}  // namespace
}  // namespace plait::particles::time_steps_test
