// SPDX-License-Identifier: Apache-2.0
#include "plait/particle_mesh/detail/patch_columns.hpp"

#include <array>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "plait/particle_mesh/detail/spline.hpp"

namespace plait::particles::detail::patch_columns_test {
namespace {

const PeriodicMesh mesh{{40, 32, 16}, {-1, 0, 2}, {0.25, 0.5, 0.125}};

class PatchColumnsOfParticles : public testing::Test {
 protected:
  void SetUp() override {
    std::mt19937_64 random{4};
    std::uniform_real_distribution<double> uniform{0, 1};
    for (int i = 0; i < 2'000; ++i) {
      places_.push_back({-1 + 9 * uniform(random), 15 * uniform(random), 2 + uniform(random)});
    }
    columns_.begin(MeshPatch::points_around(mesh, places_), 3);
    for (std::uint32_t piece = 0; piece < 3; ++piece) {
      const std::size_t first = places_.size() * piece / 3;
      const std::size_t last = places_.size() * (piece + 1) / 3;
      columns_.sort_piece(piece, mesh, std::span{places_}.subspan(first, last - first), first);
    }
  }

  std::vector<Vector> places_;
  PatchColumns columns_;
};

TEST_F(PatchColumnsOfParticles, each_particle_is_in_one_column_in_ascending_order) {
  std::vector<int> found(places_.size(), 0);
  for (std::uint32_t column = 0; column < columns_.columns(); ++column) {
    std::size_t next = 0;
    std::size_t count = 0;
    columns_.for_each(column, [&](std::size_t i) {
      EXPECT_GE(i, next);
      next = i + 1;
      ++found[i];
      ++count;
    });
    EXPECT_EQ(columns_.has_particles(column), count > 0);
  }
  EXPECT_EQ(found, std::vector<int>(places_.size(), 1));
}

TEST_F(PatchColumnsOfParticles, columns_of_one_colour_have_no_points_in_common) {
  using Line = std::array<fft::Index, 2>;
  for (std::uint32_t colour = 0; colour < PatchColumns::colours; ++colour) {
    std::set<Line> others;
    for (std::uint32_t column = 0; column < columns_.columns(); ++column) {
      if (columns_.colour_of(column) != colour) {
        continue;
      }
      std::set<Line> own;
      columns_.for_each(column, [&](std::size_t i) {
        const std::array<double, 3> at = mesh.coordinates(places_[i]);
        for (int x = 0; x < spline_order; ++x) {
          for (int y = 0; y < spline_order; ++y) {
            own.insert({first_point(at[0]) + x, first_point(at[1]) + y});
          }
        }
      });
      for (const Line& line : own) {
        EXPECT_TRUE(others.insert(line).second) << "column " << column;
      }
    }
  }
}

TEST(PatchColumns, an_empty_patch_has_none) {
  PatchColumns columns;
  columns.begin({}, 2);
  EXPECT_EQ(columns.columns(), 0U);
  columns.sort_piece(0, mesh, {}, 0);
}

}  // namespace
}  // namespace plait::particles::detail::patch_columns_test
