// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/kernels/kernel.hpp"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/particles/store/lattice.hpp"

namespace plait::particles::kernel_test {
namespace {

struct Point {
  double x, y, z, mass;
};

/// Random lists and targets of lengths that fill no vector.
class EveryKernel : public testing::TestWithParam<const Kernels*> {
 protected:
  static constexpr std::size_t body_count = 37;
  static constexpr std::size_t cell_count = 1029;  // more than a block
  static constexpr std::size_t target_count = 7;

  void SetUp() override {
    bodies_.reserve(body_count);
    cells_.reserve(cell_count);
    for (std::size_t i = 0; i < body_count; ++i) {
      bodies_.x[i] = random();
      bodies_.y[i] = random();
      bodies_.z[i] = random();
      bodies_.mass[i] = 1 + random();
    }
    for (std::size_t i = 0; i < cell_count; ++i) {
      for (auto* values :
           {&cells_.x, &cells_.y, &cells_.z, &cells_.xx, &cells_.xy, &cells_.xz, &cells_.yy, &cells_.yz}) {
        (*values)[i] = static_cast<float>(random());
      }
      cells_.z[i] += 4;
      cells_.mass[i] = 1;
    }
    for (std::size_t i = 0; i < target_count; ++i) {
      x_.push_back(i == 0 ? bodies_.x[5] : random());  // the first is one of the sources
      y_.push_back(i == 0 ? bodies_.y[5] : random());
      z_.push_back(i == 0 ? bodies_.z[5] : random());
    }
  }
  double random() { return uniform_(generator_); }

  std::vector<Pull> run_bodies(const KernelOptions& options) {
    std::vector<Pull> pulls(target_count);
    near_.assign(target_count, 0);
    GetParam()->bodies(targets(pulls), bodies_.pad(body_count), options, near_.data());
    return pulls;
  }
  TargetSpan targets(std::vector<Pull>& pulls) {
    near_x_.assign(x_.begin(), x_.end());
    near_y_.assign(y_.begin(), y_.end());
    near_z_.assign(z_.begin(), z_.end());
    return {
        x_.data(), y_.data(), z_.data(), near_x_.data(), near_y_.data(), near_z_.data(), pulls.size(), pulls.data()};
  }
  std::vector<Pull> run_cells(bool quadrupole) {
    std::vector<Pull> pulls(target_count);
    const auto kernel = quadrupole ? GetParam()->quadrupoles : GetParam()->monopoles;
    kernel(targets(pulls), cells_.pad(cell_count), {});
    return pulls;
  }

  std::mt19937_64 generator_{11};
  std::uniform_real_distribution<double> uniform_{-1, 1};
  BodyList bodies_;
  CellList cells_;
  std::vector<double> x_, y_, z_;
  std::vector<float> near_x_, near_y_, near_z_;
  std::vector<std::uint32_t> near_;
};

void expect_near(const Pull& a, const Pull& b, double tolerance) {
  const double scale = std::abs(b.potential);
  EXPECT_NEAR(a.x, b.x, tolerance * scale);
  EXPECT_NEAR(a.y, b.y, tolerance * scale);
  EXPECT_NEAR(a.z, b.z, tolerance * scale);
  EXPECT_NEAR(a.potential, b.potential, tolerance * scale);
}

TEST_P(EveryKernel, sums_bodies_in_double_precision_and_leaves_out_the_target) {
  const std::vector<Pull> pulls = run_bodies({});
  for (std::size_t i = 0; i < target_count; ++i) {
    Pull exact;
    for (std::size_t j = 0; j < body_count; ++j) {
      const double dx = bodies_.x[j] - x_[i];
      const double dy = bodies_.y[j] - y_[i];
      const double dz = bodies_.z[j] - z_[i];
      const double r2 = dx * dx + dy * dy + dz * dz;
      if (r2 > 0) {
        const double r = std::sqrt(r2);
        exact.x += bodies_.mass[j] * dx / (r2 * r);
        exact.y += bodies_.mass[j] * dy / (r2 * r);
        exact.z += bodies_.mass[j] * dz / (r2 * r);
        exact.potential -= bodies_.mass[j] / r;
      }
    }
    expect_near(pulls[i], exact, 1e-11);
  }
}

TEST_P(EveryKernel, sums_bodies_in_single_precision_and_leaves_out_the_target) {
  CellList near;
  near.reserve(body_count);
  for (std::size_t i = 0; i < body_count; ++i) {
    near.x[i] = static_cast<float>(bodies_.x[i]);
    near.y[i] = static_cast<float>(bodies_.y[i]);
    near.z[i] = static_cast<float>(bodies_.z[i]);
    near.mass[i] = static_cast<float>(bodies_.mass[i]);
  }
  std::vector<Pull> pulls(target_count);
  GetParam()->near_bodies(targets(pulls), near.pad(body_count), {});
  const std::vector<Pull> exact = run_bodies({});
  for (std::size_t i = 0; i < target_count; ++i) {
    expect_near(pulls[i], exact[i], 1e-4);  // two of them are a thousandth of the box apart
  }
}

TEST_P(EveryKernel, counts_bodies_within_the_contact_radius) {
  static_cast<void>(run_bodies({0, 0.25}));
  for (std::size_t i = 0; i < target_count; ++i) {
    std::uint32_t near = 0;
    for (std::size_t j = 0; j < body_count; ++j) {
      const double d = std::hypot(bodies_.x[j] - x_[i], bodies_.y[j] - y_[i], bodies_.z[j] - z_[i]);
      near += d < 0.5 ? 1 : 0;
    }
    EXPECT_EQ(near_[i], near);
  }
}

/// Potential of a cell at (x, y, z) from it.
double cell_potential(const CellList& c, std::size_t j, double x, double y, double z, bool quadrupole) {
  const double dx = c.x[j] - x;
  const double dy = c.y[j] - y;
  const double dz = c.z[j] - z;
  const double r = std::sqrt(dx * dx + dy * dy + dz * dz);
  const double zz = -(double{c.xx[j]} + c.yy[j]);
  const double dqd = c.xx[j] * dx * dx + c.yy[j] * dy * dy + zz * dz * dz +
                     2 * (c.xy[j] * dx * dy + c.xz[j] * dx * dz + c.yz[j] * dy * dz);
  return -c.mass[j] / r - (quadrupole ? dqd / (2 * std::pow(r, 5)) : 0);
}

TEST_P(EveryKernel, pulls_with_the_gradient_of_the_potential_of_cells) {
  for (const bool quadrupole : {false, true}) {
    const std::vector<Pull> pulls = run_cells(quadrupole);
    for (std::size_t i = 0; i < target_count; ++i) {
      Pull exact;
      const double h = 1e-4;
      for (std::size_t j = 0; j < cell_count; ++j) {
        const auto at = [&](double a, double b, double c) {
          return cell_potential(cells_, j, x_[i] + a, y_[i] + b, z_[i] + c, quadrupole);
        };
        exact.potential += at(0, 0, 0);
        exact.x -= (at(h, 0, 0) - at(-h, 0, 0)) / (2 * h);
        exact.y -= (at(0, h, 0) - at(0, -h, 0)) / (2 * h);
        exact.z -= (at(0, 0, h) - at(0, 0, -h)) / (2 * h);
      }
      expect_near(pulls[i], exact, 1e-6);
    }
  }
}

/// The mean of signed relative errors.
struct MeanError {
  double potential = 0;
  double force = 0;  ///< Along the force.
};

/// Of sums in single precision beside double ones over the same numbers. Short lists, as the
/// rounding of long sums would hide the errors of roots.
MeanError mean_error_in_single_precision(const Kernels& kernels) {
  constexpr std::size_t rounds = 4096;
  std::mt19937_64 generator{5};
  std::uniform_real_distribution<float> uniform{1, 5};
  CellList cells;
  cells.reserve(list_padding);
  const double here = 0;
  const float near_here = 0;
  MeanError mean;
  for (std::size_t round = 0; round < rounds; ++round) {
    Pull exact;
    for (std::size_t j = 0; j < list_padding; ++j) {
      cells.x[j] = uniform(generator);
      cells.y[j] = cells.z[j] = 0;
      cells.mass[j] = 1;
      const double r = cells.x[j];
      exact.x += 1 / (r * r);
      exact.potential -= 1 / r;
    }
    Pull pull;
    const TargetSpan target{&here, &here, &here, &near_here, &near_here, &near_here, 1, &pull};
    kernels.monopoles(target, cells.pad(list_padding), {});
    mean.potential += (pull.potential / exact.potential - 1) / rounds;
    mean.force += (pull.x / exact.x - 1) / rounds;
  }
  return mean;
}

/// A tenth of the rounding of potentials; forces have the third power of the root.
TEST_P(EveryKernel, adds_dipoles_as_two_opposite_charges_that_are_close) {
  constexpr float apart = 1e-3F;
  CellList charges;
  charges.reserve(2 * cell_count);
  for (std::size_t i = 0; i < cell_count; ++i) {
    const auto px = static_cast<float>(random());
    const auto py = static_cast<float>(random());
    const auto pz = static_cast<float>(random());
    cells_.px[i] = px;
    cells_.py[i] = py;
    cells_.pz[i] = pz;
    for (const std::size_t side : {0, 1}) {
      const float sign = side == 0 ? 0.5F : -0.5F;
      const std::size_t j = 2 * i + side;
      charges.x[j] = cells_.x[i] + sign * apart * px;
      charges.y[j] = cells_.y[i] + sign * apart * py;
      charges.z[j] = cells_.z[i] + sign * apart * pz;
      charges.mass[j] = 2 * sign;
    }
  }
  std::vector<Pull> pulls(target_count);
  GetParam()->dipoles(targets(pulls), cells_.pad(cell_count), {});
  for (std::size_t i = 0; i < target_count; ++i) {
    Pull exact;
    for (std::size_t j = 0; j < 2 * cell_count; ++j) {
      const double dx = static_cast<double>(charges.x[j] - near_x_[i]);
      const double dy = static_cast<double>(charges.y[j] - near_y_[i]);
      const double dz = static_cast<double>(charges.z[j] - near_z_[i]);
      const double r = std::sqrt(dx * dx + dy * dy + dz * dz);
      const double m = static_cast<double>(charges.mass[j] / apart);
      exact.x += m * dx / (r * r * r);
      exact.y += m * dy / (r * r * r);
      exact.z += m * dz / (r * r * r);
      exact.potential -= m / r;
    }
    expect_near(pulls[i], exact, 5e-3);  // of positions in single precision that differ by 1e-3
  }
}

TEST_P(EveryKernel, has_errors_of_one_sign_far_below_rounding_only) {
  const MeanError mean = mean_error_in_single_precision(*GetParam());
  EXPECT_LT(std::abs(mean.potential), 2e-8);
  EXPECT_LT(std::abs(mean.force), 6e-8);
}

TEST_P(EveryKernel, does_nothing_with_empty_lists) {
  std::vector<Pull> pulls(1);
  std::uint32_t near = 0;
  GetParam()->bodies(targets(pulls), bodies_.pad(0), {}, &near);
  EXPECT_EQ(pulls[0].potential, 0);
}

TEST_P(EveryKernel, takes_the_nearest_image_and_nothing_beyond_the_cutoff) {
  const KernelOptions options{.cutoff2 = 0.4, .period = {1.5, 0, 1.25}};
  const std::vector<Pull> pulls = run_bodies(options);
  for (std::size_t i = 0; i < target_count; ++i) {
    Pull exact;
    for (std::size_t j = 0; j < body_count; ++j) {
      const double dx = std::remainder(bodies_.x[j] - x_[i], 1.5);
      const double dy = bodies_.y[j] - y_[i];
      const double dz = std::remainder(bodies_.z[j] - z_[i], 1.25);
      const double r2 = dx * dx + dy * dy + dz * dz;
      if (r2 > 0 && r2 < 0.4) {
        const double r = std::sqrt(r2);
        exact.x += bodies_.mass[j] * dx / (r2 * r);
        exact.y += bodies_.mass[j] * dy / (r2 * r);
        exact.z += bodies_.mass[j] * dz / (r2 * r);
        exact.potential -= bodies_.mass[j] / r;
      }
    }
    expect_near(pulls[i], exact, 1e-11);
  }
}

TEST_P(EveryKernel, takes_images_that_slide) {
  const Lattice images{{1.5, 0.75, 0}, {.displacement = 0.6, .speed = 0}};
  const std::vector<Pull> pulls = run_bodies({.period = images.period, .displacement = images.slide.displacement});
  for (std::size_t i = 0; i < target_count; ++i) {
    Pull exact;
    for (std::size_t j = 0; j < body_count; ++j) {
      const Vector d = images.in_box({bodies_.x[j] - x_[i], bodies_.y[j] - y_[i], bodies_.z[j] - z_[i]}).offset;
      if (const double r = length(d); r > 0) {
        exact.x += bodies_.mass[j] * d.x / (r * r * r);
        exact.y += bodies_.mass[j] * d.y / (r * r * r);
        exact.z += bodies_.mass[j] * d.z / (r * r * r);
        exact.potential -= bodies_.mass[j] / r;
      }
    }
    expect_near(pulls[i], exact, 1e-11);
  }
}

INSTANTIATE_TEST_SUITE_P(Processors, EveryKernel, testing::ValuesIn(available_kernels()), [](const auto& set) {
  return std::string{set.param->name};
});

}  // namespace
}  // namespace plait::particles::kernel_test
