// SPDX-License-Identifier: Apache-2.0
#include "sph/flow_gradient.hpp"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace sph::flow_gradient_test {
namespace {

using Matrix = std::array<std::array<double, 3>, 3>;

/// Random particles around one at the origin, which flow as a matrix times their place.
struct Cloud {
  std::array<std::vector<float>, 7> columns;  ///< x, y, z, velocities, mass.

  Cloud(std::size_t count, const Matrix& flow) {
    std::mt19937 random{3};
    std::uniform_real_distribution<float> even{-1, 1};
    for (std::size_t i = 0; i < count; ++i) {
      const std::array<float, 3> at =
          i == 0 ? std::array<float, 3>{} : std::array{even(random), even(random), even(random)};
      for (std::size_t a = 0; a < 3; ++a) {
        columns[a].push_back(at[a]);
        columns[3 + a].push_back(static_cast<float>(flow[a][0] * at[0] + flow[a][1] * at[1] + flow[a][2] * at[2]));
      }
      columns[6].push_back(1);
    }
    for (auto& column : columns) {
      column.resize((count + source_padding - 1) / source_padding * source_padding);
    }
  }

  [[nodiscard]] FlowGradient gradient() const {
    DensitySources sources{.count = columns[0].size()};
    sources.x = columns[0].data(), sources.y = columns[1].data(), sources.z = columns[2].data();
    sources.velocity_x = columns[3].data(), sources.velocity_y = columns[4].data();
    sources.velocity_z = columns[5].data();
    sources.mass = columns[6].data();
    const std::vector<DensityTarget> target{{.smoothing = 0.5F}};
    std::vector<DensitySums> sums(1);
    sum_density(KernelKind::wendland_c4, target, sources, sums);
    return flow_gradient(sums[0]);
  }
};

TEST(FlowGradient, of_a_linear_flow_is_exact_among_particles_in_disorder) {
  const Matrix flow{{{-2, 0.5, 1}, {0.25, 1, -3}, {2, 0, 0.75}}};
  const FlowGradient found = Cloud{60, flow}.gradient();
  EXPECT_NEAR(found.divergence, -0.25, 1e-4);
  EXPECT_NEAR(found.curl, std::hypot(0 + 3, 1 - 2, 0.25 - 0.5), 1e-4);
  EXPECT_NEAR(found.strain_along.x, -2, 1e-4);
  EXPECT_NEAR(found.strain_along.y, 1, 1e-4);
  EXPECT_NEAR(found.strain_along.z, 0.75, 1e-4);
  EXPECT_NEAR(found.strain_across.x, -1.5, 1e-4);   // yz
  EXPECT_NEAR(found.strain_across.y, 1.5, 1e-4);    // xz
  EXPECT_NEAR(found.strain_across.z, 0.375, 1e-4);  // xy
  EXPECT_NEAR(found.falling, 4 + 1 + 0.5625 + 2 * (0.125 + 2 + 0), 1e-3);
}

TEST(FlowGradient, of_a_rotation_is_a_curl_alone) {
  const FlowGradient found = Cloud{60, {{{0, -4, 0}, {4, 0, 0}, {0, 0, 0}}}}.gradient();
  EXPECT_NEAR(found.divergence, 0, 1e-4);
  EXPECT_NEAR(found.curl, 8, 1e-3);
  EXPECT_NEAR(length(found.strain_along) + length(found.strain_across), 0, 1e-4);
}

TEST(FlowGradient, of_a_particle_without_neighbours_is_zero) {
  const FlowGradient found = Cloud{1, {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}}.gradient();
  EXPECT_EQ(found.divergence, 0);
  EXPECT_EQ(found.curl, 0);
}

TEST(FlowGradient, of_a_particle_with_one_neighbour_is_finite) {
  const FlowGradient found = Cloud{2, {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}}.gradient();
  EXPECT_TRUE(std::isfinite(found.divergence));
}

}  // namespace
}  // namespace sph::flow_gradient_test
