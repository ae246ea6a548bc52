// SPDX-License-Identifier: Apache-2.0
// What particle codes meet sooner or later: the right answer, or a sentence.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/particles/steps/leapfrog.hpp"
#include "plait/particles/steps/system.hpp"
#include "plait/testing/run_program.hpp"

#include "data/leaks_allowed.hpp"
#include "particles/samples.hpp"

namespace plait::particles::trouble_test {
namespace {

using test::Sample;

/// Gas: gravity, and a density by a sum over the images of all particles within their reach.
struct Gas : Sample {
  Field<float> reach = store.add_field<float>("reach");
  Field<double> density = store.add_field<double>("density");

  void add(const Vector& place, double its_mass, float its_reach) {
    const std::size_t i = store.add(1);
    store.ids()[i] = next_id++;
    store.positions()[i] = place;
    store[mass][i] = its_mass;
    store[reach][i] = its_reach;
  }
  std::uint64_t next_id = 0;
};

void add_density(System& system, Gas& gas) {
  system.add_short_range({.reach = gas.reach, .sources = {gas.mass}}, {gas.density}, [&gas](const Block& block) {
    for (std::size_t i = 0; i < block.targets.size(); ++i) {
      const std::size_t place = block.targets.places()[i];
      for (std::size_t j = 0; j < block.sources.size(); ++j) {
        const Vector d{static_cast<double>(block.targets.x()[i] - block.sources.x()[j]),
                       static_cast<double>(block.targets.y()[i] - block.sources.y()[j]),
                       static_cast<double>(block.targets.z()[i] - block.sources.z()[j])};
        const double r = length(d) / static_cast<double>(gas.store[gas.reach][place]);
        gas.store[gas.density][place] += r < 1 ? static_cast<double>(block.sources[gas.mass][j]) * (1 - r) : 0;
      }
    }
  });
}

struct Found {
  std::vector<Vector> accelerations;
  std::vector<double> potentials;
  std::vector<double> densities;
  std::vector<Vector> places;
};

struct Setting {
  std::uint32_t ranks = 1;
  SystemOptions system;
  double softening = 0;
  int steps = 0;
  double time_step = 0;
  bool is_refused = false;  ///< An error ends the ranks within a step.
};

/// All particles begin on the last rank, as `fill` adds them. They move as their velocities are, if there are steps.
Found compute(const Setting& setting, std::size_t count, const std::function<void(Gas&)>& fill) {
  Found found{.accelerations = std::vector<Vector>(count),
              .potentials = std::vector<double>(count),
              .densities = std::vector<double>(count),
              .places = std::vector<Vector>(count)};
  std::mutex mutex;
  const std::uint32_t workers = setting.is_refused ? 1 : 2;
  plait::test::run_program({.ranks = setting.ranks}, {.worker_count = workers}, [&](Runtime& runtime) {
    std::optional<data::test::LeaksAllowed> leaks;
    if (setting.is_refused) {
      leaks.emplace();
    }
    Gas gas;
    if (runtime.self().value() + 1 == setting.ranks) {
      fill(gas);
    }
    System system{runtime.messages(), runtime.scheduler(), gas.store, setting.system};
    system.add_long_range({.charge = gas.mass,
                           .acceleration = gas.acceleration,
                           .potential = gas.potential,
                           .softening = setting.softening});
    add_density(system, gas);
    add_leapfrog(system, {gas.velocity, gas.acceleration, setting.time_step});
    system.update();
    for (int step = 0; step < setting.steps; ++step) {
      system.step();
    }
    const std::lock_guard lock{mutex};
    for (std::size_t i = 0; i < gas.store.size(); ++i) {
      const std::uint64_t id = gas.store.ids()[i];
      found.accelerations[id] = gas.store[gas.acceleration][i];
      found.potentials[id] = gas.store[gas.potential][i];
      found.densities[id] = gas.store[gas.density][i];
      found.places[id] = gas.store.positions()[i];
    }
  });
  return found;
}

class TroubleOnRanks : public testing::TestWithParam<std::uint32_t> {};

TEST_P(TroubleOnRanks, particles_at_one_place_exert_no_force_on_each_other) {
  constexpr std::size_t count = 40;
  const Found found = compute({.ranks = GetParam()}, count, [](Gas& gas) {
    for (std::size_t i = 0; i < count - 1; ++i) {
      gas.add({0.25, 0.5, 0.75}, 1, 0.1F);
    }
    gas.add({0.25, 0.5, 1.75}, 2, 0.1F);
  });
  for (std::size_t i = 0; i < count - 1; ++i) {
    EXPECT_NEAR(length(found.accelerations[i] - Vector{0, 0, 2}), 0, 1e-5);
    EXPECT_NEAR(found.potentials[i], -2, 1e-5);
    EXPECT_DOUBLE_EQ(found.densities[i], count - 1);
  }
  EXPECT_NEAR(length(found.accelerations[count - 1] - Vector{0, 0, -39}), 0, 1e-4);
}

TEST_P(TroubleOnRanks, a_softened_pair_at_one_place_has_the_potential_of_its_softening) {
  const Found found = compute({.ranks = GetParam(), .softening = 0.5}, 2, [](Gas& gas) {
    gas.add({1, 1, 1}, 3, 0.1F);
    gas.add({1, 1, 1}, 5, 0.1F);
  });
  EXPECT_NEAR(found.potentials[0], -10, 1e-9);
  EXPECT_NEAR(found.potentials[1], -6, 1e-9);
  EXPECT_EQ(found.accelerations[0], Vector{});
}

TEST_P(TroubleOnRanks, a_runaway_in_a_periodic_box_is_wrapped_from_anywhere) {
  SystemOptions box{.space = {.root = {{0, 0, 0}, {1, 1, 1}}, .periodic = {true, true, true}}};
  const Found found = compute({.ranks = GetParam(), .system = box, .steps = 3, .time_step = 1}, 9, [](Gas& gas) {
    for (int i = 0; i < 8; ++i) {
      gas.add({0.25 + 0.5 * (i % 2), 0.25 + 0.5 * (i / 2 % 2), 0.25 + 0.5 * (i / 4)}, 0, 0.1F);
    }
    gas.add({0.5, 0.5, 0.5}, 0, 0.1F);
    gas.store[gas.velocity][8] = {1024.125, -4096.125, 0};
  });
  EXPECT_NEAR(length(found.places[8] - Vector{0.875, 0.125, 0.5}), 0, 1e-9);
}

TEST_P(TroubleOnRanks, a_particle_that_is_nowhere_is_named) {
  for (const double velocity : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    std::string message;
    try {
      (void)compute({.ranks = GetParam(), .steps = 1, .time_step = 1, .is_refused = true}, 30, [velocity](Gas& gas) {
        for (int i = 0; i < 30; ++i) {
          gas.add({i * 0.1, i % 7 * 0.1, i % 3 * 0.1}, 1, 0.1F);
        }
        gas.store[gas.velocity][17].y = velocity;
      });
    } catch (const Error& error) {
      message = error.what();
    }
    EXPECT_NE(message.find("particle 17 is at"), std::string::npos) << message;
  }
}

TEST_P(TroubleOnRanks, domains_without_particles_have_the_right_answer_around_them) {
  SystemOptions options;
  std::vector<double> cuts;  // given boundaries, far from all particles: one rank has all
  for (std::uint32_t part = 1; part < GetParam(); ++part) {
    cuts.push_back(100.0 + part);
  }
  options.grid = {GetParam(), 1, 1};
  options.cuts = cuts;
  options.steps_between_decompositions = 0;
  Sample all;
  test::add_sphere(all, 300);
  const Found found = compute({.ranks = GetParam(), .system = options, .softening = 0}, 300, [&all](Gas& gas) {
    for (std::size_t i = 0; i < 300; ++i) {
      gas.add(all.store.positions()[i], all.store[all.mass][i], 0.1F);
    }
  });
  EXPECT_LT(test::rms_error(found.accelerations, test::direct_accelerations(all)), 1e-3);
}

TEST_P(TroubleOnRanks, particles_without_mass_exert_no_force) {
  for (const std::size_t heavy : {std::size_t{0}, std::size_t{1}}) {
    Sample all;
    test::add_sphere(all, 200);
    const Found found = compute({.ranks = GetParam()}, 200, [&](Gas& gas) {
      for (std::size_t i = 0; i < 200; ++i) {
        gas.add(all.store.positions()[i], i < heavy ? 2 : 0, 0.1F);
      }
    });
    for (std::size_t i = 0; i < 200; ++i) {
      const Vector d = all.store.positions()[0] - all.store.positions()[i];
      const double r = length(d);
      const Vector exact = i >= heavy && heavy > 0 ? (2 / (r * r * r)) * d : Vector{};
      EXPECT_LE(length(found.accelerations[i] - exact), 1e-5 * length(exact));
      EXPECT_TRUE(std::isfinite(found.potentials[i]));
    }
  }
}

TEST_P(TroubleOnRanks, a_reach_larger_than_the_box_sums_over_all_images) {
  SystemOptions box{.space = {.root = {{0, 0, 0}, {1, 1, 1}}, .periodic = {true, true, true}}};
  std::mt19937_64 random{5};
  std::uniform_real_distribution<double> coordinate{0, 1};
  std::vector<Vector> places(12);
  for (Vector& place : places) {
    place = {coordinate(random), coordinate(random), coordinate(random)};
  }
  const Found found = compute({.ranks = GetParam(), .system = box}, places.size(), [&](Gas& gas) {
    for (const Vector& place : places) {
      gas.add(place, 1, 2.25F);
    }
  });
  for (std::size_t i = 0; i < places.size(); ++i) {
    double expected = 0;
    for (const Vector& other : places) {
      for (int image = 0; image < 343; ++image) {
        const Vector shift{image % 7 - 3.0, image / 7 % 7 - 3.0, image / 49 - 3.0};
        expected += std::max(0.0, 1 - length(other + shift - places[i]) / 2.25);
      }
    }
    EXPECT_NEAR(found.densities[i], expected, 1e-4 * expected);
  }
}

TEST_P(TroubleOnRanks, fewer_particles_than_ranks_have_their_forces) {
  for (const std::size_t count : {0, 1, 3}) {
    const Found found = compute({.ranks = GetParam(), .steps = 2, .time_step = 1e-6}, count, [count](Gas& gas) {
      for (std::size_t i = 0; i < count; ++i) {
        gas.add({static_cast<double>(i), 0, 0}, 1, 0.5F);
      }
    });
    if (count == 3) {
      EXPECT_NEAR(found.accelerations[0].x, 1.25, 1e-5);
      EXPECT_NEAR(found.accelerations[1].x, 0, 1e-5);
      EXPECT_NEAR(found.densities[2], 1, 1e-6);
    }
  }
}

TEST_P(TroubleOnRanks, a_time_step_too_short_for_positions_leaves_them_where_they_are) {
  const Found found = compute({.ranks = GetParam(), .steps = 5, .time_step = 1e-300}, 2, [](Gas& gas) {
    gas.add({1, 0, 0}, 1, 0.5F);
    gas.add({2, 0, 0}, 1, 0.5F);
  });
  EXPECT_EQ(found.places[0], (Vector{1, 0, 0}));
  EXPECT_NEAR(found.accelerations[0].x, 1, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Ranks, TroubleOnRanks, testing::Values(1, 2, 7), [](const auto& instance) {
  return std::to_string(instance.param);
});

}  // namespace
}  // namespace plait::particles::trouble_test
