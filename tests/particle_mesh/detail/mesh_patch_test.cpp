// SPDX-License-Identifier: Apache-2.0
#include "plait/particle_mesh/detail/mesh_patch.hpp"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "plait/particle_mesh/detail/spline.hpp"

namespace plait::particles::detail::mesh_patch_test {
namespace {

const PeriodicMesh mesh{{8, 8, 16}, {-1, 0, 2}, {0.25, 0.5, 0.125}};

void cover(MeshPatch& patch, const std::vector<Vector>& places) {
  patch.cover(mesh, MeshPatch::points_around(mesh, places));
  for (std::uint32_t part = 0; part < 3; ++part) {
    patch.clear(part, 3);
  }
}

TEST(MeshPatch, it_covers_the_points_of_its_particles) {
  MeshPatch patch;
  const std::vector<Vector> places{{-1, 0, 2}, {-0.3, 1.2, 2.6}};
  cover(patch, places);
  EXPECT_EQ(patch.box().low, (std::array<fft::Index, 3>{-2, -2, -2}));
  EXPECT_EQ(patch.box().high, (std::array<fft::Index, 3>{6, 6, 8}));
  cover(patch, {});
  EXPECT_TRUE(patch.box().is_empty());
  EXPECT_TRUE(patch.values().empty());
}

TEST(MeshPatch, all_of_a_charge_is_deposited_and_its_centre_stays) {
  MeshPatch patch;
  const std::vector<Vector> places{{-0.6, 1.1, 2.7}};
  cover(patch, places);
  patch.deposit(places[0], 3);
  EXPECT_NEAR(std::accumulate(patch.values().begin(), patch.values().end(), 0.0), 3, 1e-13);
  double centre = 0;
  for (fft::Index k = patch.box().low[2]; k < patch.box().high[2]; ++k) {
    for (int i = 0; i < spline_order; ++i) {
      for (int j = 0; j < spline_order; ++j) {
        centre +=
            patch.values()[patch.offset(patch.box().low[0] + i, patch.box().low[1] + j, k)] * static_cast<double>(k);
      }
    }
  }
  EXPECT_NEAR(centre / 3 * mesh.spacing.z + mesh.low.z, 2.7, 1e-13);
}

TEST(MeshPatch, linear_potentials_are_interpolated_exactly) {
  MeshPatch patch;
  const std::vector<Vector> places{{-0.6, 1.1, 2.7}, {-0.4, 1.3, 2.8}};
  cover(patch, places);
  const fft::IndexBox& box = patch.box();
  for (fft::Index i = box.low[0]; i < box.high[0]; ++i) {
    for (fft::Index j = box.low[1]; j < box.high[1]; ++j) {
      for (fft::Index k = box.low[2]; k < box.high[2]; ++k) {
        patch.values()[patch.offset(i, j, k)] =
            2.0 * static_cast<double>(i) - static_cast<double>(j) + 0.5 * static_cast<double>(k);
      }
    }
  }
  for (const Vector& place : places) {
    const MeshValue value = patch.at(place);
    EXPECT_NEAR(value.potential, 2 * (place.x + 1) / 0.25 - place.y / 0.5 + 0.5 * (place.z - 2) / 0.125, 1e-12);
    EXPECT_NEAR(value.slope.x, 2 / 0.25, 1e-12);
    EXPECT_NEAR(value.slope.y, -1 / 0.5, 1e-12);
    EXPECT_NEAR(value.slope.z, 0.5 / 0.125, 1e-12);
  }
}

}  // namespace
}  // namespace plait::particles::detail::mesh_patch_test
