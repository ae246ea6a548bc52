// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/neighbours/short_range.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::particles::short_range_test {
namespace {

/// Particles in cells, on one rank.
struct Scene {
  Particles own;
  Particles ghosts;
  Field<float> reach = own.add_field<float>("reach");
  Field<float> ghost_reach = ghosts.add_field<float>("reach");
  Field<double> weight = own.add_field<double>("weight");
  Field<double> ghost_weight = ghosts.add_field<double>("weight");

  CellTable table_of(const Vector& period, const CellOptions& options = {}) {
    std::vector<Particles::Index> order;
    const CellSizes sizes = divide_into_cells(own, options, order);
    own.reorder(order);
    CellTable table{own, ghosts, period};
    table.assign(sizes);
    for (std::uint32_t cell = 0; cell < table.count(); ++cell) {
      table.refresh(cell, reach, 1);
    }
    table.find_neighbours(1, 0);
    return table;
  }

  void add(const Vector& position, float its_reach) {
    const std::size_t i = own.add(1);
    own.positions()[i] = position;
    own.ids()[i] = i;
    own[reach][i] = its_reach;
    own[weight][i] = 1 + 0.5 * static_cast<double>(i % 7);
    own[Particles::kind][i] = static_cast<std::uint8_t>(i % 3);
  }

  void add_random(std::size_t count, std::uint64_t seed, float reach_max) {
    std::mt19937_64 random{seed};
    std::uniform_real_distribution<double> place{0, 1};
    for (std::size_t i = 0; i < count; ++i) {
      // Clumps and a thin rest, and reaches that differ.
      const double size = i % 4 == 0 ? 1 : 0.1;
      add({place(random) * size, place(random) * size, place(random)},
          reach_max * static_cast<float>(0.2 + 0.8 * place(random)));
    }
  }
};

double nearest(double between, double period) {
  return period > 0 ? between - period * std::round(between / period) : between;
}

/// Sums of weights by id, all pairs; images beyond the nearest count as far as `images` goes.
std::map<std::uint64_t, double> plain_sums(const Scene& scene, const ShortRangeOptions& options, const Vector& period) {
  std::map<std::uint64_t, double> sums;
  const Particles& store = scene.own;
  for (std::size_t i = 0; i < store.size(); ++i) {
    if ((options.target_kinds >> store[Particles::kind][i] & 1U) == 0) {
      continue;
    }
    double& sum = sums[store.ids()[i]];
    for (std::size_t j = 0; j < store.size(); ++j) {
      if ((options.source_kinds >> store[Particles::kind][j] & 1U) == 0) {
        continue;
      }
      const Vector d = store.positions()[i] - store.positions()[j];
      const Vector n{nearest(d.x, period.x), nearest(d.y, period.y), nearest(d.z, period.z)};
      const double hi = store[scene.reach][i];
      const double hj = store[scene.reach][j];
      const double reach = options.search == Search::gather    ? hi
                           : options.search == Search::scatter ? hj
                                                               : std::max(hi, hj);
      sum += dot(n, n) < reach * reach ? store[scene.weight][j] : 0;
    }
  }
  return sums;
}

std::map<std::uint64_t, double> block_sums(Scene& scene,
                                           const ShortRangeOptions& options,
                                           const CellTable& table,
                                           std::size_t every = 1) {
  std::map<std::uint64_t, double> sums;
  BlockMaker maker{options};
  for (std::uint32_t cell = 0; cell < table.own_count(); ++cell) {
    std::vector<Particles::Index> targets;
    for (Particles::Index i = table[cell].first; i < table[cell].first + table[cell].count; ++i) {
      if (scene.own.ids()[i] % every == 0) {
        targets.push_back(i);
      }
    }
    maker.for_blocks(table, cell, targets, [&](const Block& block) {
      const auto target_reach = block.targets[scene.reach];
      const auto source_reach = block.sources[scene.reach];
      const auto weight = block.sources[scene.weight];
      for (std::size_t t = 0; t < block.targets.size(); ++t) {
        double sum = 0;
        for (std::size_t s = 0; s < block.sources.size(); ++s) {
          const float x = block.targets.x()[t] - block.sources.x()[s];
          const float y = block.targets.y()[t] - block.sources.y()[s];
          const float z = block.targets.z()[t] - block.sources.z()[s];
          const float reach = options.search == Search::gather    ? target_reach[t]
                              : options.search == Search::scatter ? source_reach[s]
                                                                  : std::max(target_reach[t], source_reach[s]);
          sum += x * x + y * y + z * z < reach * reach ? static_cast<double>(weight[s]) : 0;
        }
        const std::uint64_t id = scene.own.ids()[block.targets.places()[t]];
        EXPECT_FALSE(sums.contains(id)) << "each target once";
        sums[id] = sum;
      }
    });
  }
  return sums;
}

ShortRangeOptions options_of(const Scene& scene, Search search) {
  return {.search = search, .reach = scene.reach, .targets = {scene.reach}, .sources = {scene.reach, scene.weight}};
}

void expect_same(const std::map<std::uint64_t, double>& found, const std::map<std::uint64_t, double>& right) {
  ASSERT_EQ(found.size(), right.size());
  for (const auto& [id, sum] : right) {
    EXPECT_DOUBLE_EQ(found.at(id), sum) << "particle " << id;
  }
}

TEST(ShortRange, finds_what_a_sum_over_all_pairs_finds) {
  for (const Search search : {Search::gather, Search::scatter, Search::symmetric}) {
    for (const Vector& period : {Vector{}, Vector{1, 1, 1}, Vector{0, 1, 0}}) {
      Scene scene;
      scene.add_random(700, 7, 0.12F);
      const CellTable table = scene.table_of(period, {.cell_particles_max = 128});
      const ShortRangeOptions options = options_of(scene, search);
      expect_same(block_sums(scene, options, table), plain_sums(scene, options, period));
    }
  }
}

TEST(ShortRange, chooses_by_kind) {
  Scene scene;
  scene.add_random(300, 3, 0.2F);
  const CellTable table = scene.table_of({1, 1, 1});
  ShortRangeOptions options = options_of(scene, Search::symmetric);
  options.target_kinds = 0b101;
  options.source_kinds = 0b010;
  expect_same(block_sums(scene, options, table), plain_sums(scene, options, {1, 1, 1}));
}

TEST(ShortRange, serves_a_part_of_the_targets) {
  Scene scene;
  scene.add_random(600, 5, 0.15F);
  const CellTable table = scene.table_of({1, 1, 1},
                                         {
                                             .cell_particles_max = 100,
                                         });
  const ShortRangeOptions options = options_of(scene, Search::symmetric);
  std::map<std::uint64_t, double> right = plain_sums(scene, options, {1, 1, 1});
  std::erase_if(right, [](const auto& entry) { return entry.first % 50 != 0; });
  expect_same(block_sums(scene, options, table, 50), right);
}

TEST(ShortRange, meets_several_images_in_a_small_space) {
  Scene scene;
  scene.add({0.5, 0.5, 0.5}, 1.2F);
  const CellTable table = scene.table_of({1, 1, 1});
  // Itself, and its six images at distance 1.
  EXPECT_DOUBLE_EQ(block_sums(scene, options_of(scene, Search::gather), table).at(0), 7);
}

TEST(ShortRange, meets_all_images_within_a_reach_of_several_spaces) {
  Scene scene;
  scene.add({0.5, 0.5, 0.5}, 2.6F);
  const CellTable table = scene.table_of({1, 1, 1});
  int images = 0;
  for (int x = -3; x <= 3; ++x) {
    for (int y = -3; y <= 3; ++y) {
      for (int z = -3; z <= 3; ++z) {
        images += x * x + y * y + z * z < 2.6 * 2.6 ? 1 : 0;
      }
    }
  }
  EXPECT_DOUBLE_EQ(block_sums(scene, options_of(scene, Search::symmetric), table).at(0), images);
}

TEST(ShortRange, copes_with_all_particles_at_one_point) {
  Scene scene;
  for (int i = 0; i < 200; ++i) {
    scene.add({0.25, 0.25, 0.25}, 0.1F);
  }
  const CellTable table = scene.table_of({1, 1, 1});
  const ShortRangeOptions options = options_of(scene, Search::gather);
  expect_same(block_sums(scene, options, table), plain_sums(scene, options, {1, 1, 1}));
}

TEST(ShortRange, serves_a_store_without_particles) {
  Scene scene;
  const CellTable table = scene.table_of({1, 1, 1});
  EXPECT_EQ(table.count(), 0U);
}

TEST(ShortRange, names_a_particle_that_is_nowhere) {
  Scene scene;
  scene.add_random(20, 1, 0.1F);
  scene.own.positions()[13].y = std::numeric_limits<double>::quiet_NaN();
  try {
    (void)scene.table_of({});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string{error.what()}.find("particle 13 "), std::string::npos) << error.what();
  }
}

TEST(ShortRange, pads_blocks_with_particles_that_are_far) {
  Scene scene;
  scene.add_random(37, 2, 0.1F);
  const CellTable table = scene.table_of({});
  const ShortRangeOptions options = options_of(scene, Search::gather);
  BlockMaker maker{options};
  std::vector<Particles::Index> targets{0};
  maker.for_blocks(table, 0, targets, [&](const Block& block) {
    EXPECT_EQ(block.sources.x().size() % BlockParticles::padding, 0U);
    for (std::size_t s = block.sources.size(); s < block.sources.padded_size(); ++s) {
      EXPECT_GT(block.sources.x()[s], 1e6F);
      EXPECT_GT(block.sources[scene.reach][s], 0);
    }
  });
}

TEST(Boxes, are_as_far_apart_as_their_nearest_images) {
  std::mt19937_64 random{4};
  const auto box_in_root = [&] {
    const auto some = [&](double low, double high) {
      return std::uniform_real_distribution<double>{low, high}(random);
    };
    Box box;
    box.include(Vector{some(-1, 3), some(2, 5), some(-9, 9)});
    box.include(Vector{some(-1, 3), some(2, 5), some(-9, 9)});
    return box;
  };
  const Vector period{4, 3, 0};
  for (int i = 0; i < 1000; ++i) {
    const Box a = box_in_root();
    const Box b = box_in_root();
    double least = std::numeric_limits<double>::infinity();
    for (int x = -1; x <= 1; ++x) {
      for (int y = -1; y <= 1; ++y) {
        const Vector shift{4.0 * x, 3.0 * y, 0};
        least = std::min(least, distance2(a, {b.low + shift, b.high + shift}, {}));
      }
    }
    EXPECT_NEAR(distance2(a, b, period), least, 1e-12);
    EXPECT_EQ(distance2(b, a, period), distance2(a, b, period));
  }
}

TEST(Boxes, are_as_far_apart_as_their_nearest_images_that_slide) {
  std::mt19937_64 random{9};
  const auto some = [&](double low, double high) { return std::uniform_real_distribution<double>{low, high}(random); };
  const auto box_in_root = [&] {
    Box box;
    box.include(Vector{some(-1, 3), some(2, 5), some(-9, 9)});
    box.include(Vector{some(-1, 3), some(2, 5), some(-9, 9)});
    return box;
  };
  for (int i = 0; i < 1000; ++i) {
    const Box a = box_in_root();
    const Box b = box_in_root();
    const Lattice images{{4, 3, 0}, {.displacement = some(0, 3), .speed = 1}};
    double least = std::numeric_limits<double>::infinity();
    for (int x = -2; x <= 2; ++x) {
      for (int y = -4; y <= 4; ++y) {
        const Vector shift{4.0 * x, 3.0 * y - x * images.slide.displacement, 0};
        least = std::min(least, distance2(a, {b.low + shift, b.high + shift}, Vector{}));
      }
    }
    EXPECT_NEAR(distance2_of_images(a, b, images), least, 1e-12);
    EXPECT_EQ(distance2_of_images(b, a, images), distance2_of_images(a, b, images));
  }
}

}  // namespace
}  // namespace plait::particles::short_range_test
