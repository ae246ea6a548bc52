// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/stage.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "plait/particles/steps/system.hpp"
#include "plait/testing/local_rank.hpp"

#include "data/leaks_allowed.hpp"

namespace plait::particles::stage_test {
namespace {

using plait::test::LocalRank;
using plait::test::run_on_ranks;

constexpr std::size_t count = 500;
constexpr float reach_of_all = 0.15F;
const Space box{.root = {{0, 0, 0}, {1, 1, 1}}, .periodic = {true, true, true}};

struct Dust {
  Particles store;
  Field<Vector> velocity = store.add_field<Vector>("velocity");
  Field<Vector> acceleration = store.add_field<Vector>("acceleration");
  Field<float> reach = store.add_field<float>("reach");
  Field<float> near = store.add_field<float>("number of neighbours");
  Field<float> beyond = store.add_field<float>("numbers of neighbours");

  void fill() {
    std::mt19937_64 random{7};
    std::uniform_real_distribution<double> place{0, 1};
    store.add(count);
    for (std::size_t i = 0; i < count; ++i) {
      store.ids()[i] = i;
      store.positions()[i] = {place(random), place(random), place(random)};
      store[velocity][i] = {place(random) - 0.5, place(random) - 0.5, place(random) - 0.5};
      store[reach][i] = reach_of_all;
    }
  }
};

/// For each target, calls `use` with its place, and each source within reach.
void for_pairs(const Block& block, const std::function<void(Particles::Index target, std::size_t source)>& use) {
  for (std::size_t i = 0; i < block.targets.size(); ++i) {
    for (std::size_t j = 0; j < block.sources.size(); ++j) {
      const Vector d = block.offset(i, j);
      if (dot(d, d) < reach_of_all * reach_of_all) {
        use(block.targets.places()[i], j);
      }
    }
  }
}

struct Sums {
  float near = 0;
  float beyond = 0;
};

/// Sums of dust that has moved for some steps, in which a tenth of the particles have short ones.
std::map<std::uint64_t, Sums> sums_after(std::uint32_t ranks, std::uint32_t workers, StepLengths lengths) {
  std::map<std::uint64_t, Sums> all;
  std::mutex mutex;
  run_on_ranks({.ranks = ranks}, {.worker_count = workers}, [&](LocalRank& rank) {
    Dust dust;
    if (rank.self() == Rank{0}) {
      dust.fill();
    }
    System system{rank.messages(),
                  rank.scheduler(),
                  dust.store,
                  {.space = box,
                   .cells = {.sizes = {.leaf_particles_max = 8, .group_particles_max = 16, .cell_particles_max = 32}}}};
    system.add_pair_stage("count", {.reach = dust.reach}, {dust.near}, [&](const Block& block) {
      for_pairs(block, [&](Particles::Index target, std::size_t) { dust.store[dust.near][target] += 1; });
    });
    const ShortRangeOptions again{.reach = dust.reach, .sources = {dust.near}};
    system.add_pair_stage("count again", again, {dust.beyond}, [&](const Block& block) {
      for_pairs(block, [&](Particles::Index target, std::size_t source) {
        dust.store[dust.beyond][target] += block.source(dust.near, source);
      });
    });
    system.integrate(leapfrog({.velocity = dust.velocity, .acceleration = dust.acceleration}));
    system.limit_steps_by([](const Particles& store, std::span<const Particles::Index> places, std::span<double> most) {
      for (std::size_t k = 0; k < places.size(); ++k) {
        most[k] = store.ids()[places[k]] % 10 == 0 ? 1.0 / 64 : 1.0 / 16;
      }
    });
    system.take_steps({.lengths = lengths, .end = 0.5});
    system.run_until(0.5);
    const std::lock_guard lock{mutex};
    for (std::size_t i = 0; i < dust.store.size(); ++i) {
      all[dust.store.ids()[i]] = {dust.store[dust.near][i], dust.store[dust.beyond][i]};
    }
  });
  return all;
}

/// The same by plain loops over all pairs.
std::map<std::uint64_t, Sums> plain_sums() {
  Dust dust;
  dust.fill();
  const auto are_near = [&](std::size_t i, std::size_t j) {
    Vector d = dust.store.positions()[j] + 0.5 * dust.store[dust.velocity][j] - dust.store.positions()[i] -
               0.5 * dust.store[dust.velocity][i];
    d = {d.x - std::round(d.x), d.y - std::round(d.y), d.z - std::round(d.z)};
    return dot(d, d) < reach_of_all * reach_of_all;
  };
  std::map<std::uint64_t, Sums> all;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      all[i].near += are_near(i, j) ? 1.0F : 0.0F;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      all[i].beyond += are_near(i, j) ? all[j].near : 0.0F;
    }
  }
  return all;
}

TEST(Stages, read_of_neighbours_on_any_rank_what_earlier_ones_have_written) {
  const std::map<std::uint64_t, Sums> plain = plain_sums();
  for (const StepLengths lengths : {StepLengths::equal, StepLengths::individual}) {
    for (const auto& [ranks, workers] : {std::pair{1U, 2U}, std::pair{3U, 1U}}) {
      const std::map<std::uint64_t, Sums> sums = sums_after(ranks, workers, lengths);
      ASSERT_EQ(sums.size(), count);
      for (const auto& [id, sum] : sums) {
        ASSERT_EQ(sum.near, plain.at(id).near) << id << " on " << ranks << " ranks";
        ASSERT_EQ(sum.beyond, plain.at(id).beyond) << id << " on " << ranks << " ranks";
      }
    }
  }
}

TEST(Stages, sum_what_short_range_interactions_of_equal_steps_sum) {
  std::map<StepLengths, std::map<std::uint64_t, float>> counts;
  for (const StepLengths lengths : {StepLengths::fixed, StepLengths::individual}) {
    std::mutex mutex;
    run_on_ranks({.ranks = 2}, {.worker_count = 1}, [&](LocalRank& rank) {
      Dust dust;
      if (rank.self() == Rank{0}) {
        dust.fill();
      }
      System system{rank.messages(), rank.scheduler(), dust.store, {.space = box}};
      system.add_short_range({.reach = dust.reach}, {dust.near}, [&](const Block& block) {
        for_pairs(block, [&](Particles::Index target, std::size_t) { dust.store[dust.near][target] += 1; });
      });
      system.integrate(leapfrog({.velocity = dust.velocity, .acceleration = dust.acceleration}));
      system.take_steps({.lengths = lengths, .step = 0.25, .step_max = 0.25});
      system.run_until(1);
      const std::lock_guard lock{mutex};
      for (std::size_t i = 0; i < dust.store.size(); ++i) {
        counts[lengths][dust.store.ids()[i]] = dust.store[dust.near][i];
      }
    });
  }
  EXPECT_EQ(counts[StepLengths::fixed].size(), count);
  EXPECT_EQ(counts[StepLengths::fixed], counts[StepLengths::individual]);
}

/// What a system with these parts reports in its first step.
std::string error_with(const std::function<void(System&, Dust&)>& declare) {
  return plait::test::errors_on_ranks({.ranks = 1}, {}, [&](LocalRank& rank) {
    const plait::data::test::LeaksAllowed leaks;
    Dust dust;
    dust.fill();
    System system{rank.messages(), rank.scheduler(), dust.store, {.space = box}};
    declare(system, dust);
    system.update();
  })[0];
}

TEST(Stages, refuse_parts_that_need_steps_of_all_particles) {
  const Stage nothing{.name = "nothing", .work = [](const StageWork&) {}};
  const auto move = [](System& system, const Dust& dust) {
    system.integrate(leapfrog({.velocity = dust.velocity, .acceleration = dust.acceleration}));
  };
  const TimeSteps individual{.lengths = StepLengths::individual};
  EXPECT_NE(error_with([&](System& system, Dust& dust) {
              move(system, dust);
              system.add_stage(nothing);
            }).find("fixed steps are not"),
            std::string::npos);
  EXPECT_NE(error_with([&](System& system, Dust&) { system.take_steps(individual); }).find("need an integrator"),
            std::string::npos);
  EXPECT_NE(error_with([&](System& system, Dust& dust) {
              move(system, dust);
              system.take_steps(individual);
              system.before("drift", [](Particles&, std::size_t, std::size_t) {});
            }).find("functions of before and when_summed"),
            std::string::npos);
  EXPECT_NE(error_with([&](System& system, Dust& dust) {
              move(system, dust);
              system.take_steps(individual);
              system.add_neighbour_lists({.radius = 0.1});
            }).find("neighbour lists"),
            std::string::npos);
  EXPECT_NE(error_with([&](System& system, Dust& dust) {
              move(system, dust);
              system.take_steps(individual);
              system.add_stage({.name = "reads", .work = [](const StageWork&) {}, .reads_neighbours = true});
            }).find("no reach is known"),
            std::string::npos);
  EXPECT_EQ(error_with([&](System& system, Dust& dust) {
              move(system, dust);
              system.take_steps(individual);
              system.add_stage(nothing);
            }),
            "");
}

TEST(Stages, refuse_sums_that_would_clear_each_other_or_miss_neighbours) {
  const auto declare = [](System& system, Dust& dust, Field<float> second_reach, Field<float> second_result) {
    system.integrate(leapfrog({.velocity = dust.velocity, .acceleration = dust.acceleration}));
    system.take_steps({.lengths = StepLengths::individual});
    system.add_short_range({.reach = dust.reach}, {dust.near}, [](const Block&) {});
    system.add_short_range({.reach = second_reach}, {second_result}, [](const Block&) {});
  };
  EXPECT_EQ(error_with([&](System& system, Dust& dust) { declare(system, dust, dust.reach, dust.beyond); }), "");
  EXPECT_NE(error_with([&](System& system, Dust& dust) {
              declare(system, dust, dust.reach, dust.near);
            }).find("several interactions with one result"),
            std::string::npos);
  EXPECT_NE(error_with([&](System& system, Dust& dust) {
              declare(system, dust, dust.beyond, dust.beyond);
            }).find("different fields of reach"),
            std::string::npos);
}

TEST(Stages, report_particles_that_were_added_between_steps) {
  EXPECT_NE(error_with([](System& system, Dust& dust) {
              system.integrate(leapfrog({.velocity = dust.velocity, .acceleration = dust.acceleration}));
              system.take_steps({.lengths = StepLengths::individual});
              system.update();
              dust.store.add(1);
            }).find("particles were added or removed"),
            std::string::npos);
}

}  // namespace
}  // namespace plait::particles::stage_test
