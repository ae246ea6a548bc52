// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/cell_steps.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "plait/particles/neighbours/halo.hpp"
#include "plait/particles/neighbours/short_range.hpp"
#include "plait/task/partner_check.hpp"
#include "plait/testing/local_rank.hpp"

namespace plait::particles::cell_steps_test {
namespace {

using plait::test::LocalRank;
using plait::test::run_on_ranks;

constexpr Vector period{1, 1, 1};
constexpr std::size_t particle_count = 900;

/// Particles that move, count those near to them, and choose a bin by their id.
struct Body {
  Vector position;
  Vector velocity;
  std::uint8_t bin;
};

Body body_of(std::uint64_t id) {
  std::mt19937_64 random{id};
  std::uniform_real_distribution<double> place{0, 1};
  Body body;
  body.position = {place(random), place(random), place(random)};
  body.velocity = {place(random) - 0.5, place(random) - 0.5, place(random) - 0.5};
  const double which = place(random);
  body.bin = which < 0.02 ? 48 : which < 0.1 ? 50 : 52;
  return body;
}

constexpr float reach = 0.11F;
constexpr double tick = 0.05 / static_cast<double>(task::line_ticks);

Vector at(const Body& body, task::Ticks now) {
  return body.position + static_cast<double>(now) * tick * body.velocity;
}

/// How many particles are near to particle `id` at `now`.
std::uint32_t plain_count(std::uint64_t id, task::Ticks now) {
  const Vector mine = at(body_of(id), now);
  std::uint32_t count = 0;
  for (std::uint64_t other = 0; other < particle_count; ++other) {
    Vector d = at(body_of(other), now) - mine;
    d = {d.x - std::round(d.x), d.y - std::round(d.y), d.z - std::round(d.z)};
    count += dot(d, d) < reach * reach ? 1 : 0;
  }
  return count;
}

struct Simulation {
  Particles own;
  Particles ghosts;
  Field<Vector> velocity = own.add_field<Vector>("velocity");
  Field<Vector> ghost_velocity = ghosts.add_field<Vector>("velocity");
  Field<float> support = own.add_field<float>("reach");
  Field<float> ghost_support = ghosts.add_field<float>("reach");
  Field<std::uint8_t> bin = own.add_field<std::uint8_t>("bin");
  Field<std::uint8_t> ghost_bin = ghosts.add_field<std::uint8_t>("bin");
  Field<std::uint32_t> count = own.add_field<std::uint32_t>("count");
  Field<std::uint32_t> ghost_count = ghosts.add_field<std::uint32_t>("count");
  Field<float> density = own.add_field<float>("density");
  Field<float> ghost_density = ghosts.add_field<float>("density");
  std::map<std::pair<std::uint64_t, task::Ticks>, std::uint32_t> counts;
  std::mutex mutex;
};

std::vector<Particles::Index> active_of(const Simulation& s, const CellTable& table, const CellWork& work) {
  std::vector<Particles::Index> targets;
  const Cell& cell = table[work.cell];
  for (Particles::Index i = cell.first; i < cell.first + cell.count; ++i) {
    if (task::is_active(task::TimeBin{s.own[s.bin][i]}, work.now)) {
      targets.push_back(i);
    }
  }
  return targets;
}

/// What every particle counted at every time at which it was active, by all ranks.
std::map<std::pair<std::uint64_t, task::Ticks>, std::uint32_t> run(std::uint32_t ranks,
                                                                   std::uint32_t workers,
                                                                   std::vector<StepCount>* steps = nullptr) {
  std::map<std::pair<std::uint64_t, task::Ticks>, std::uint32_t> all;
  std::mutex mutex;
  run_on_ranks({.ranks = ranks}, {.worker_count = workers}, [&](LocalRank& rank) {
    Simulation s;
    for (std::uint64_t id = 0; id < particle_count; ++id) {
      const Body body = body_of(id);
      if (static_cast<std::uint32_t>(body.position.x * ranks) == rank.self().value()) {
        const std::size_t i = s.own.add(1);
        s.own.positions()[i] = body.position;
        s.own[s.velocity][i] = body.velocity;
        s.own.ids()[i] = id;
        s.own[s.support][i] = reach;
        s.own[s.bin][i] = body.bin;
      }
    }
    std::vector<Particles::Index> order;
    const CellSizes sizes = divide_into_cells(s.own, {8, 16, 32}, order);
    s.own.reorder(order);
    CellTable table{s.own, s.ghosts, period};
    table.assign(sizes);
    for (std::uint32_t cell = 0; cell < table.own_count(); ++cell) {
      table.refresh(cell, s.support, 1);
    }
    const Halo halo = make_halo(
        rank.messages(), table, {.skin = 0.1}, {.reach = s.support, .travel = {Particles::position, s.support}});
    const ShortRangeOptions search{
        .search = Search::gather, .reach = s.support, .targets = {s.support}, .sources = {s.density}};
    std::vector<task::Ticks> drifted(table.own_count());
    CellStage drift{.name = "drift",
                    .who = Who::near_active,
                    .work =
                        [&](const CellWork& work) {
                          for (Particles::Index i = table[work.cell].first;
                               i < table[work.cell].first + table[work.cell].count;
                               ++i) {
                            s.own.positions()[i] +=
                                static_cast<double>(work.now - drifted[work.cell]) * tick * s.own[s.velocity][i];
                          }
                          drifted[work.cell] = work.now;
                        },
                    .refreshes = {Particles::position, s.support, s.density},
                    .moves = true};
    CellStage sum{.name = "count", .who = Who::active, .reads_neighbours = true, .work = [&](const CellWork& work) {
                    BlockMaker maker{search};
                    maker.for_blocks(table, work.cell, active_of(s, table, work), [&](const Block& block) {
                      for (std::size_t t = 0; t < block.targets.size(); ++t) {
                        std::uint32_t count = 0;
                        for (std::size_t j = 0; j < block.sources.size(); ++j) {
                          const float x = block.sources.x()[j] - block.targets.x()[t];
                          const float y = block.sources.y()[j] - block.targets.y()[t];
                          const float z = block.sources.z()[j] - block.targets.z()[t];
                          count += x * x + y * y + z * z < reach * reach ? 1 : 0;
                        }
                        s.own[s.count][block.targets.places()[t]] = count;
                      }
                    });
                  }};
    CellStage keep{.name = "keep",
                   .who = Who::active,
                   .work =
                       [&](const CellWork& work) {
                         const std::scoped_lock lock{s.mutex};
                         for (const Particles::Index i : active_of(s, table, work)) {
                           s.own[s.density][i] = static_cast<float>(s.own[s.count][i]);
                           s.counts[{s.own.ids()[i], work.now}] = s.own[s.count][i];
                         }
                       },
                   .refreshes = {s.density}};
    // The sum of what neighbours have counted when they last did.
    CellStage second{.name = "sum", .who = Who::active, .reads_neighbours = true, .work = [&](const CellWork& work) {
                       BlockMaker maker{search};
                       maker.for_blocks(table, work.cell, active_of(s, table, work), [&](const Block& block) {
                         for (std::size_t t = 0; t < block.targets.size(); ++t) {
                           float total = 0;
                           for (std::size_t j = 0; j < block.sources.size(); ++j) {
                             const float x = block.sources.x()[j] - block.targets.x()[t];
                             const float y = block.sources.y()[j] - block.targets.y()[t];
                             const float z = block.sources.z()[j] - block.targets.z()[t];
                             total += x * x + y * y + z * z < reach * reach ? block.sources[s.density][j] : 0;
                           }
                           const std::scoped_lock lock{s.mutex};
                           s.counts[{s.own.ids()[block.targets.places()[t]] + 1000000, work.now}] =
                               static_cast<std::uint32_t>(total);
                         }
                       });
                     }};
    CellSteps cells{rank.messages(),
                    rank.scheduler(),
                    table,
                    halo,
                    {.bin = s.bin, .reach = s.support, .stages = {drift, sum, keep, second}}};
    task::Ticks now = cells.begin(0);
    while (now < task::line_ticks / 4) {
      const StepCount count = cells.step(now, [&](task::Ticks) { return rank.self() == Rank{1}; });
      EXPECT_EQ(count.is_any, ranks > 1);
      if (steps != nullptr && rank.self() == Rank{0}) {
        steps->push_back(count);
      }
      now = count.next;
    }
    const std::scoped_lock lock{mutex};
    all.merge(s.counts);
  });
  return all;
}

TEST(CellSteps, count_neighbours_as_one_rank_does_at_each_step) {
  std::vector<StepCount> steps;
  const auto right = run(1, 1, &steps);
  std::size_t looked_at = 0;
  for (const auto& [who, count] : right) {
    if (who.first < particle_count) {
      EXPECT_EQ(count, plain_count(who.first, who.second)) << who.first << " at " << who.second;
      ++looked_at;
    }
  }
  EXPECT_GT(looked_at, 1000U);
  // Most steps are those of the few with short steps.
  const auto few = std::ranges::count_if(steps, [](const StepCount& step) { return step.active_particles < 50; });
  EXPECT_GT(few, static_cast<std::ptrdiff_t>(steps.size() / 2));
  for (const std::uint32_t ranks : {2U, 3U, 4U}) {
    EXPECT_EQ(run(ranks, 1), right) << ranks << " ranks";
  }
  EXPECT_EQ(run(2, 2), right) << "two workers";
}

}  // namespace
}  // namespace plait::particles::cell_steps_test
