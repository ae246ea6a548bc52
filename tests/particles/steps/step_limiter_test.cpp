// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/step_limiter.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace plait::particles::step_limiter_test {
namespace {

constexpr Vector period{1, 1, 1};
constexpr std::uint8_t short_bin = 10;
constexpr std::uint8_t long_bin = 20;
constexpr task::Ticks now = task::Ticks{1} << (short_bin + 1);  // bins up to `short_bin` are active

struct Gas {
  Particles store;
  Particles ghosts;
  Field<std::uint8_t> bin = store.add_field<std::uint8_t>("bin");
  Field<std::uint8_t> seen = store.add_field<std::uint8_t>("bin seen");
  Field<float> reach = store.add_field<float>("reach");
};

void fill(Gas& gas, std::size_t count) {
  std::mt19937_64 random{3};
  std::uniform_real_distribution<double> place{0, 1};
  gas.store.add(count);
  for (std::size_t i = 0; i < count; ++i) {
    gas.store.positions()[i] = {place(random), place(random), place(random)};
    gas.store.ids()[i] = i;
    gas.store[Particles::kind][i] = i % 5 == 0 ? 1 : 0;
    gas.store[gas.reach][i] = static_cast<float>(0.05 + 0.05 * place(random));
    const double which = place(random);
    gas.store[gas.bin][i] = which < 0.01 ? short_bin - 3 : which < 0.02 ? short_bin : long_bin;
    gas.store[gas.seen][i] = gas.store[gas.bin][i];
  }
}

CellTable cells_of(Gas& gas) {
  std::vector<Particles::Index> order;
  const CellSizes sizes = divide_into_cells(
      gas.store, {.leaf_particles_max = 8, .group_particles_max = 16, .cell_particles_max = 32}, order);
  gas.store.reorder(order);
  gas.ghosts = gas.store.make_like();
  CellTable table{gas.store, gas.ghosts, period};
  table.assign(sizes);
  for (std::uint32_t cell = 0; cell < table.own_count(); ++cell) {
    table.refresh(cell, gas.reach, 1);
  }
  table.find_neighbours(1, 0);
  return table;
}

/// The bins that particles of kind 0 should get, by id, from all pairs.
std::map<std::uint64_t, std::uint8_t> expected_wakes(const Gas& gas) {
  std::map<std::uint64_t, std::uint8_t> wakes;
  const Particles& store = gas.store;
  for (std::size_t i = 0; i < store.size(); ++i) {
    std::uint8_t wanted = store[gas.bin][i];
    for (std::size_t j = 0; j < store.size() && store[Particles::kind][i] == 0; ++j) {
      Vector d = store.positions()[j] - store.positions()[i];
      d = {d.x - std::round(d.x), d.y - std::round(d.y), d.z - std::round(d.z)};
      const double reach = std::max(store[gas.reach][i], store[gas.reach][j]);
      if (store[gas.bin][j] <= short_bin && dot(d, d) < reach * reach) {
        const auto limit = static_cast<std::uint8_t>(store[gas.bin][j] + task::neighbour_bins_apart_max);
        wanted = std::min(wanted, limit);
      }
    }
    if (wanted < store[gas.bin][i]) {
      wakes[store.ids()[i]] = wanted;
    }
  }
  return wakes;
}

TEST(StepLimiter, wakes_particles_of_its_kinds_that_short_steps_reach) {
  Gas gas;
  fill(gas, 2'000);
  const CellTable table = cells_of(gas);
  const std::map<std::uint64_t, std::uint8_t> expected = expected_wakes(gas);
  ASSERT_GT(expected.size(), 20U);
  std::map<std::uint64_t, std::uint8_t> found;
  const StepLimiter limiter{table,
                            {.bin = gas.bin,
                             .bin_seen = gas.seen,
                             .reach = gas.reach,
                             .kinds = {0},
                             .wake = [&](Particles::Index i, task::TimeBin bin, task::Ticks at) {
                               EXPECT_EQ(at, now);
                               found[gas.store.ids()[i]] = bin.value();
                             }}};
  StepLimiter::Buffers buffers;
  for (std::uint32_t cell = 0; cell < table.own_count(); ++cell) {
    limiter.limit(cell, now, buffers);
  }
  EXPECT_EQ(found, expected);
}

TEST(StepLimiter, leaves_particles_asleep_when_no_short_step_is_active) {
  Gas gas;
  fill(gas, 500);
  const CellTable table = cells_of(gas);
  int woken = 0;
  const StepLimiter limiter{table,
                            {.bin = gas.bin,
                             .bin_seen = gas.seen,
                             .reach = gas.reach,
                             .kinds = {},
                             .wake = [&](Particles::Index, task::TimeBin, task::Ticks) { ++woken; }}};
  StepLimiter::Buffers buffers;
  for (std::uint32_t cell = 0; cell < table.own_count(); ++cell) {
    limiter.limit(cell, 2, buffers);  // an earlier time, at which bin 0 alone is active
  }
  EXPECT_EQ(woken, 0);
}

}  // namespace
}  // namespace plait::particles::step_limiter_test
