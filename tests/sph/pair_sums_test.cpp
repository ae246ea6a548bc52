// SPDX-License-Identifier: Apache-2.0
#include "sph/pair_sums.hpp"

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace sph::pair_sums_test {
namespace {

/// Random gas, as arrays of properties that all have the same length.
struct Cloud {
  std::vector<std::vector<float>> columns;
  std::size_t real;

  explicit Cloud(std::size_t count, unsigned seed = 1) : columns(13), real{count} {
    std::mt19937 random{seed};
    std::uniform_real_distribution<float> even{0, 1};
    const std::size_t padded = (count + source_padding - 1) / source_padding * source_padding;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      columns[c].assign(padded, 1);
      for (std::size_t i = 0; i < count; ++i) {
        columns[c][i] = c < 6 ? 2 * even(random) - 1 : c == 7 ? 0.2F + 0.1F * even(random) : 0.5F + even(random);
      }
    }
    for (std::size_t i = count; i < padded; ++i) {
      columns[6][i] = 0;  // padding has no mass
    }
  }
  [[nodiscard]] ForceSources sources() const {
    const auto at = [&](std::size_t c) { return columns[c].data(); };
    ForceSources s;
    s.count = columns[0].size();
    s.x = at(0), s.y = at(1), s.z = at(2);
    s.velocity_x = at(3), s.velocity_y = at(4), s.velocity_z = at(5);
    s.mass = at(6);
    s.smoothing = at(7), s.density = at(8), s.grad_h = at(9), s.energy = at(10);
    s.viscosity = at(11), s.conduction = at(12);
    return s;
  }
  [[nodiscard]] ForceTarget target(std::size_t i) const {
    ForceTarget t;
    t.x = columns[0][i], t.y = columns[1][i], t.z = columns[2][i];
    t.velocity_x = columns[3][i], t.velocity_y = columns[4][i], t.velocity_z = columns[5][i];
    t.smoothing = columns[7][i], t.density = columns[8][i], t.grad_h = columns[9][i], t.energy = columns[10][i];
    t.viscosity = columns[11][i], t.conduction = columns[12][i];
    return t;
  }
  [[nodiscard]] std::vector<ForceTarget> targets() const {
    std::vector<ForceTarget> all;
    for (std::size_t i = 0; i < real; ++i) {
      all.push_back(target(i));
    }
    return all;
  }
};

struct Slope {
  double w, by_r, by_h;
};
/// W(r, h) and its derivatives, from the textbook's form.
Slope kernel(KernelKind kind, double r, double h) {
  const double support = support_ratio(kind) * h;
  const KernelValue value = kernel_at(kind, r / support);
  return {value.w / std::pow(support, 3),
          value.slope / std::pow(support, 4),
          -(3 * value.w + r / support * value.slope) / std::pow(support, 3) / h};
}

void expect_density_by_the_formula(KernelKind kind) {
  const Cloud cloud{300};
  const ForceSources sources = cloud.sources();
  std::vector<DensityTarget> targets;
  for (const ForceTarget& target : cloud.targets()) {
    targets.push_back(target);
  }
  std::vector<DensitySums> sums(targets.size());
  sum_density(kind, targets, sources, sums);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    std::array<double, 8> wanted{};
    for (std::size_t j = 0; j < cloud.real; ++j) {
      const double x = targets[i].x - sources.x[j], y = targets[i].y - sources.y[j], z = targets[i].z - sources.z[j];
      const double u = targets[i].velocity_x - sources.velocity_x[j], v = targets[i].velocity_y - sources.velocity_y[j],
                   w = targets[i].velocity_z - sources.velocity_z[j];
      const double r = std::sqrt(x * x + y * y + z * z);
      const Slope k = kernel(kind, r, targets[i].smoothing);
      const double m = sources.mass[j];
      const double pull = r > 0 ? m * k.by_r / r : 0;
      const std::array<double, 8> part{k.w,
                                       k.by_h,
                                       m * k.w,
                                       m * k.by_h,
                                       -pull * (x * u + y * v + z * w),
                                       pull * (v * z - w * y),
                                       pull * (w * x - u * z),
                                       pull * (u * y - v * x)};
      for (std::size_t c = 0; c < 8; ++c) {
        wanted[c] += part[c];
      }
    }
    const std::array<float, 8> got{sums[i].number,
                                   sums[i].number_slope,
                                   sums[i].density,
                                   sums[i].density_slope,
                                   sums[i].divergence,
                                   sums[i].curl_x,
                                   sums[i].curl_y,
                                   sums[i].curl_z};
    const std::array<double, 8> scale{wanted[0],
                                      wanted[0] / 0.2,
                                      wanted[2],
                                      wanted[2] / 0.2,
                                      wanted[2] / 0.2,
                                      wanted[2] / 0.2,
                                      wanted[2] / 0.2,
                                      wanted[2] / 0.2};
    for (std::size_t c = 0; c < 8; ++c) {
      ASSERT_NEAR(got[c], wanted[c], 1e-5 * scale[c]) << "particle " << i << ", sum " << c;
    }
  }
}

TEST(PairSums, density_by_the_formula_with_the_cubic_spline) {
  expect_density_by_the_formula(KernelKind::cubic_spline);
}

TEST(PairSums, density_by_the_formula_with_wendland_c2) {
  expect_density_by_the_formula(KernelKind::wendland_c2);
}

TEST(PairSums, kernels_have_unit_volume) {
  for (const KernelKind kind : {KernelKind::cubic_spline, KernelKind::wendland_c2}) {
    double volume = 0;
    constexpr int steps = 20000;
    for (int i = 0; i < steps; ++i) {
      const double q = (i + 0.5) / steps;
      volume += 4 * M_PI * q * q * kernel_at(kind, q).w / steps;
    }
    EXPECT_NEAR(volume, 1, 1e-7);
  }
}

/// What a source does to a target, as the papers write it, in double precision.
std::array<double, 6> force_by_the_formula(const Scheme& scheme,
                                           const ForceTarget& a,
                                           const ForceSources& s,
                                           std::size_t j) {
  const double x = a.x - s.x[j], y = a.y - s.y[j], z = a.z - s.z[j];
  const double r = std::sqrt(x * x + y * y + z * z);
  const double support = support_ratio(scheme.kernel) * std::max(a.smoothing, s.smoothing[j]);
  if (r == 0 || r >= support) {
    return {};
  }
  const double g = scheme.gamma;
  const double m = s.mass[j];
  const double pa = (g - 1) * a.density * a.energy, pb = (g - 1) * s.density[j] * s.energy[j];
  const double ca = std::sqrt(g * pa / a.density), cb = std::sqrt(g * pb / s.density[j]);
  const double wa = kernel(scheme.kernel, r, a.smoothing).by_r, wb = kernel(scheme.kernel, r, s.smoothing[j]).by_r;
  const double vr = ((a.velocity_x - s.velocity_x[j]) * x + (a.velocity_y - s.velocity_y[j]) * y +
                     (a.velocity_z - s.velocity_z[j]) * z) /
                    r;
  const double mu = std::min(vr, 0.0);
  const double signal = ca + cb - 3 * mu;
  const double mean_density = (a.density + s.density[j]) / 2;
  const double viscous = -(a.viscosity + s.viscosity[j]) / 2 * mu * signal / (2 * mean_density) * (wa + wb) / 2;
  const double push_a = a.grad_h * pa / (a.density * a.density) * wa;
  const double push_b = s.grad_h[j] * pb / (s.density[j] * s.density[j]) * wb;
  const double force = -m * (push_a + push_b + viscous);
  const double speed = (std::abs(vr) + std::sqrt(2 * std::abs(pa - pb) / (a.density + s.density[j]))) / 2;
  const double strength = (pa * a.conduction + pb * s.conduction[j]) / (pa + pb);
  const double heat =
      strength * speed * (a.energy - s.energy[j]) * (a.grad_h * wa / a.density + s.grad_h[j] * wb / s.density[j]);
  return {force * x / r,
          force * y / r,
          force * z / r,
          m * (push_a * vr + viscous / 2 * vr + heat),
          m / s.density[j] * vr * wa,
          signal};
}

void expect_forces_by_the_formula(const Scheme& scheme) {
  const Cloud cloud{300, 7};
  const ForceSources sources = cloud.sources();
  const std::vector<ForceTarget> targets = cloud.targets();
  std::vector<ForceSums> sums(targets.size());
  sum_forces(scheme, targets, sources, sums);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    std::array<double, 6> wanted{};
    std::array<double, 6> scale{};
    for (std::size_t j = 0; j < cloud.real; ++j) {
      const std::array<double, 6> part = force_by_the_formula(scheme, targets[i], sources, j);
      for (std::size_t c = 0; c < 6; ++c) {
        wanted[c] = c == 5 ? std::max(wanted[c], part[c]) : wanted[c] + part[c];
        scale[c] += std::abs(part[c]);
      }
    }
    const std::array<float, 6> got{
        sums[i].x, sums[i].y, sums[i].z, sums[i].energy_rate, sums[i].compression, sums[i].signal_speed};
    for (std::size_t c = 0; c < 6; ++c) {
      ASSERT_NEAR(got[c], wanted[c], 1e-5 * scale[c] + 1e-6) << "particle " << i << ", sum " << c;
    }
  }
}

TEST(PairSums, forces_by_the_formula) {
  expect_forces_by_the_formula({.kernel = KernelKind::cubic_spline});
  expect_forces_by_the_formula({.kernel = KernelKind::wendland_c2, .gamma = 1.4F});
}

TEST(PairSums, forces_of_all_on_all_add_up_to_nothing) {
  const Cloud cloud{400, 3};
  const std::vector<ForceTarget> targets = cloud.targets();
  std::vector<ForceSums> sums(targets.size());
  sum_forces({}, targets, cloud.sources(), sums);
  std::array<double, 4> total{};
  std::array<double, 4> scale{};
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const double m = cloud.columns[6][i];
    const double power = sums[i].energy_rate + static_cast<double>(sums[i].x) * targets[i].velocity_x +
                         static_cast<double>(sums[i].y) * targets[i].velocity_y +
                         static_cast<double>(sums[i].z) * targets[i].velocity_z;
    const std::array<double, 4> part{m * sums[i].x, m * sums[i].y, m * sums[i].z, m * power};
    for (std::size_t c = 0; c < 4; ++c) {
      total[c] += part[c];
      scale[c] += std::abs(part[c]);
    }
  }
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_LT(std::abs(total[c]), 1e-6 * scale[c]) << c;
  }
}

TEST(PairSums, more_neighbours_than_are_noted_at_once_count_all_the_same) {
  Cloud cloud{5000};
  for (std::size_t c = 0; c < 3; ++c) {
    for (float& place : cloud.columns[c]) {
      place *= 0.05F;
    }
  }
  const std::vector<DensityTarget> target(1, cloud.target(17));
  std::vector<DensitySums> sums(1);
  sum_density(KernelKind::cubic_spline, target, cloud.sources(), sums);
  double wanted = 0;
  for (std::size_t j = 0; j < cloud.real; ++j) {
    const double r = std::hypot(
        target[0].x - cloud.columns[0][j], target[0].y - cloud.columns[1][j], target[0].z - cloud.columns[2][j]);
    wanted += kernel(KernelKind::cubic_spline, r, target[0].smoothing).w;
  }
  EXPECT_NEAR(sums[0].number, wanted, 1e-5 * wanted);
}

TEST(PairSums, without_sources_nothing_acts) {
  const std::vector<ForceTarget> target(1, Cloud{1}.target(0));
  std::vector<ForceSums> sums(1);
  sum_forces({}, target, {}, sums);
  EXPECT_EQ(sums[0].x, 0);
  EXPECT_EQ(sums[0].signal_speed, 0);
}

}  // namespace
}  // namespace sph::pair_sums_test
