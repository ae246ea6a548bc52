// SPDX-License-Identifier: Apache-2.0
// Systems in a plane, of several species, and whose particles come and go.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/particles/steps/system.hpp"
#include "plait/testing/run_program.hpp"

#include "data/leaks_allowed.hpp"
#include "particles/samples.hpp"

namespace plait::particles::varied_systems_test {
namespace {

using test::Sample;

struct Body {
  Vector place;
  double mass = 0;
  std::uint8_t kind = 0;
};
/// By id.
using Bodies = std::map<std::uint64_t, Body>;

void add(Sample& sample, std::uint64_t id, const Body& body) {
  const std::size_t i = sample.store.add(1);
  sample.store.ids()[i] = id;
  sample.store.positions()[i] = body.place;
  sample.store[sample.mass][i] = body.mass;
  sample.store[Particles::kind][i] = body.kind;
}

Bodies in_plane(std::size_t count) {
  std::mt19937_64 random{12};
  std::uniform_real_distribution<double> coordinate{0, 1};
  Bodies bodies;
  for (std::size_t i = 0; i < count; ++i) {
    bodies[i] = {{coordinate(random), coordinate(random), 0.3}, 1.0 / static_cast<double>(count), 0};
  }
  return bodies;
}

Vector direct(const Bodies& bodies, std::uint64_t id, const Kinds& sources = {}) {
  Vector sum;
  for (const auto& [other, body] : bodies) {
    const Vector d = body.place - bodies.at(id).place;
    if (other != id && sources.has(body.kind)) {
      sum += (body.mass / (dot(d, d) * length(d))) * d;
    }
  }
  return sum;
}

class VariedSystemsOnRanks : public testing::TestWithParam<std::uint32_t> {};

TEST_P(VariedSystemsOnRanks, particles_in_a_plane_have_their_forces_and_neighbours_and_every_rank_has_some) {
  constexpr double radius = 0.05;
  const Bodies bodies = in_plane(1'200);
  std::mutex mutex;
  std::vector<Vector> found(bodies.size());
  std::vector<Vector> exact(bodies.size());
  std::map<std::uint64_t, std::size_t> neighbours;
  std::vector<std::size_t> sizes;
  plait::test::run_program({.ranks = GetParam()}, {.worker_count = 2}, [&](Runtime& runtime) {
    Sample sample;
    if (runtime.self() == Rank{0}) {
      for (const auto& [id, body] : bodies) {
        add(sample, id, body);
      }
    }
    System system{runtime.messages(), runtime.scheduler(), sample.store, {.grid = square_grid(GetParam())}};
    system.add_long_range({.charge = sample.mass, .acceleration = sample.acceleration, .potential = sample.potential});
    const NeighbourLists& lists = system.add_neighbour_lists({.radius = radius});
    system.update();
    const std::lock_guard lock{mutex};
    sizes.push_back(sample.store.size());
    for (std::size_t i = 0; i < sample.store.size(); ++i) {
      const std::uint64_t id = sample.store.ids()[i];
      found[id] = sample.store[sample.acceleration][i];
      exact[id] = direct(bodies, id);
      neighbours[id] = lists.neighbours(i).size();
    }
  });
  EXPECT_LT(test::rms_error(found, exact), 1e-3);
  EXPECT_GT(std::ranges::min(sizes), bodies.size() / GetParam() / 2);
  for (const auto& [id, body] : bodies) {
    const auto near = std::ranges::count_if(bodies, [&, self = id, &place = body.place](const auto& other) {
      return other.first != self && length(other.second.place - place) <= radius;
    });
    EXPECT_EQ(neighbours[id], static_cast<std::size_t>(near));
  }
}

/// Ions of two kinds and a third kind without charge of its own: each pair of kinds has an interaction or none.
TEST_P(VariedSystemsOnRanks, species_interact_in_the_pairs_that_the_program_adds) {
  std::mt19937_64 random{3};
  std::uniform_real_distribution<double> coordinate{0, 1};
  Bodies bodies;
  for (std::uint64_t i = 0; i < 400; ++i) {
    bodies[i] = {{coordinate(random), coordinate(random), coordinate(random)},
                 1 + coordinate(random),
                 static_cast<std::uint8_t>(i % 3)};
  }
  std::mutex mutex;
  std::size_t count = 0;
  plait::test::run_program({.ranks = GetParam()}, {.worker_count = 2}, [&](Runtime& runtime) {
    Sample sample;
    const auto other_pull = sample.store.add_field<Vector>("other pull");
    const auto other_potential = sample.store.add_field<double>("other potential");
    for (const auto& [id, body] : bodies) {
      if (id % GetParam() == runtime.self().value()) {
        add(sample, id, body);
      }
    }
    System system{runtime.messages(), runtime.scheduler(), sample.store};
    system.add_long_range({.charge = sample.mass,  // kind 0 acts on 1 and 2
                           .acceleration = sample.acceleration,
                           .potential = sample.potential,
                           .sources = {0},
                           .targets = {1, 2},
                           .theta = 0});
    system.add_long_range({.charge = sample.mass,  // kinds 1 and 2 repel 0
                           .acceleration = other_pull,
                           .potential = other_potential,
                           .sources = {1, 2},
                           .targets = {0},
                           .theta = 0,
                           .coupling = -1});
    const NeighbourLists& lists = system.add_neighbour_lists({.radius = 0.3, .targets = {2}, .sources = {1}});
    system.update();
    const std::lock_guard lock{mutex};
    count += sample.store.size();
    for (std::size_t i = 0; i < sample.store.size(); ++i) {
      const std::uint64_t id = sample.store.ids()[i];
      const bool is_first = bodies.at(id).kind == 0;
      const Vector first = is_first ? Vector{} : direct(bodies, id, {0});
      const Vector second = is_first ? -1 * direct(bodies, id, {1, 2}) : Vector{};
      EXPECT_LE(length(sample.store[sample.acceleration][i] - first), 1e-9 * length(first));
      EXPECT_LE(length(sample.store[other_pull][i] - second), 1e-9 * length(second));
      const auto near = std::ranges::count_if(bodies, [&](const auto& other) {
        return bodies.at(id).kind == 2 && other.second.kind == 1 &&
               length(other.second.place - bodies.at(id).place) <= 0.3;
      });
      EXPECT_EQ(lists.neighbours(i).size(), static_cast<std::size_t>(near));
    }
  });
  EXPECT_EQ(count, bodies.size());
}

/// Removes particles with some ids, adds others anywhere on any rank, and compares with direct sums in between.
void run_with_changes(std::uint32_t ranks, std::uint32_t steps_between_trees) {
  std::mutex mutex;
  std::array<Bodies, 4> of_round;
  std::array<std::size_t, 4> sizes{};
  std::mt19937_64 random{31};
  std::uniform_real_distribution<double> coordinate{0, 1};
  for (std::uint64_t id = 0; id < 400; ++id) {
    const Body body{{coordinate(random), coordinate(random), coordinate(random)}, 1, 0};
    for (std::uint64_t round = 0; round < 4; ++round) {  // an id lives in two or three rounds
      if (round >= id % 3 && round <= id % 3 + 1) {
        of_round[round][id] = body;
      }
    }
  }
  plait::test::run_program({.ranks = ranks}, {.worker_count = 2}, [&](Runtime& runtime) {
    Sample sample;
    System system{runtime.messages(), runtime.scheduler(), sample.store, {.steps_between_trees = steps_between_trees}};
    system.add_long_range({.charge = sample.mass,
                           .acceleration = sample.acceleration,
                           .potential = sample.potential,
                           .theta = 0,
                           .softening = 0.01});
    for (std::size_t round = 0; round < 4; ++round) {
      std::vector<Particles::Index> gone;
      for (Particles::Index i = 0; i < sample.store.size(); ++i) {
        if (!of_round[round].contains(sample.store.ids()[i])) {
          gone.push_back(i);
        }
      }
      sample.store.remove_unordered(gone);
      for (const auto& [id, body] : of_round[round]) {
        const bool is_new = round == 0 || !of_round[round - 1].contains(id);
        if (is_new && id / 3 % ranks == runtime.self().value()) {
          add(sample, id, body);
        }
      }
      system.particles_changed();
      system.update();
      system.step();
      const std::lock_guard lock{mutex};
      sizes[round] += sample.store.size();
      for (std::size_t i = 0; i < sample.store.size(); ++i) {
        Vector exact;
        for (const auto& [other, body] : of_round[round]) {
          const Vector d = body.place - sample.store.positions()[i];
          const double r = std::sqrt(dot(d, d) + 1e-4);
          exact += (1 / (r * r * r)) * d;
        }
        EXPECT_LT(length(sample.store[sample.acceleration][i] - exact), 1e-9 * length(exact));
      }
    }
  });
  for (std::size_t round = 0; round < 4; ++round) {
    EXPECT_EQ(sizes[round], of_round[round].size());
  }
}

TEST_P(VariedSystemsOnRanks, particles_that_are_added_and_removed_between_steps_have_the_right_forces) {
  run_with_changes(GetParam(), 1);
  run_with_changes(GetParam(), 5);
}

TEST_P(VariedSystemsOnRanks, a_change_that_was_not_reported_ends_with_a_sentence) {
  const Bodies bodies = in_plane(100);
  const auto run = [&] {
    plait::test::run_program({.ranks = GetParam()}, [&](Runtime& runtime) {
      const data::test::LeaksAllowed leaks;
      Sample sample;
      for (const auto& [id, body] : bodies) {
        if (id % GetParam() == runtime.self().value()) {
          add(sample, id, body);
        }
      }
      System system{runtime.messages(), runtime.scheduler(), sample.store, {.steps_between_trees = 3}};
      system.add_long_range(
          {.charge = sample.mass, .acceleration = sample.acceleration, .potential = sample.potential});
      system.update();
      if (runtime.self() == Rank{0}) {
        add(sample, 1000, {});
      }
      system.update();
    });
  };
  try {
    run();
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string{error.what()}.find("System::particles_changed"), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, VariedSystemsOnRanks, testing::Values(1, 2, 6), [](const auto& instance) {
  return std::to_string(instance.param);
});

}  // namespace
}  // namespace plait::particles::varied_systems_test
