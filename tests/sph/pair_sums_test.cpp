// SPDX-License-Identifier: Apache-2.0
#include "sph/pair_sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sph::pair_sums_test {
namespace {

/// Random gas, as arrays of properties that all have the same length.
struct Cloud {
  std::vector<std::vector<float>> columns;
  std::size_t real;

  explicit Cloud(std::size_t count, unsigned seed = 1) : columns(19), real{count} {
    std::mt19937 random{seed};
    std::uniform_real_distribution<float> even{0, 1};
    const std::size_t padded = (count + source_padding - 1) / source_padding * source_padding;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      columns[c].assign(padded, 1);
      for (std::size_t i = 0; i < count; ++i) {
        columns[c][i] = c < 6 || c > 12 ? 2 * even(random) - 1
                        : c == 7        ? 0.2F + 0.1F * even(random)
                                        : 0.5F + even(random);
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
    s.strain_xx = at(13), s.strain_yy = at(14), s.strain_zz = at(15);
    s.strain_yz = at(16), s.strain_xz = at(17), s.strain_xy = at(18);
    return s;
  }
  [[nodiscard]] ForceTarget target(std::size_t i) const {
    ForceTarget t;
    t.x = columns[0][i], t.y = columns[1][i], t.z = columns[2][i];
    t.velocity_x = columns[3][i], t.velocity_y = columns[4][i], t.velocity_z = columns[5][i];
    t.smoothing = columns[7][i], t.density = columns[8][i], t.grad_h = columns[9][i], t.energy = columns[10][i];
    t.viscosity = columns[11][i], t.conduction = columns[12][i];
    t.strain_xx = columns[13][i], t.strain_yy = columns[14][i], t.strain_zz = columns[15][i];
    t.strain_yz = columns[16][i], t.strain_xz = columns[17][i], t.strain_xy = columns[18][i];
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

constexpr std::size_t sum_count = 4 + 9 + 6;
using Sums = std::array<double, sum_count>;

Sums as_array(const DensitySums& sums) {
  Sums all{sums.number, sums.number_slope, sums.density, sums.density_slope};
  std::ranges::copy(sums.flow, all.begin() + 4);
  std::ranges::copy(sums.places, all.begin() + 13);
  return all;
}

/// What source `j` adds to the sums of a target.
Sums density_by_the_formula(KernelKind kind, const DensityTarget& target, const DensitySources& s, std::size_t j) {
  const std::array x{target.x - s.x[j], target.y - s.y[j], target.z - s.z[j]};
  const std::array v{
      target.velocity_x - s.velocity_x[j], target.velocity_y - s.velocity_y[j], target.velocity_z - s.velocity_z[j]};
  const double r = std::hypot(x[0], x[1], x[2]);
  const Slope k = kernel(kind, r, target.smoothing);
  const double m = s.mass[j];
  const double weight = r > 0 ? -m * k.by_r / r : 0;
  Sums part{k.w, k.by_h, m * k.w, m * k.by_h};
  std::size_t place = 13;
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t b = 0; b < 3; ++b) {
      part[4 + 3 * a + b] = weight * v[a] * x[b];
      if (b >= a) {
        part[place++] = weight * x[a] * x[b];
      }
    }
  }
  return part;
}

ForceTarget strain_of(const ForceSources& s, std::size_t j) {
  ForceTarget t;
  t.strain_xx = s.strain_xx[j], t.strain_yy = s.strain_yy[j], t.strain_zz = s.strain_zz[j];
  t.strain_yz = s.strain_yz[j], t.strain_xz = s.strain_xz[j], t.strain_xy = s.strain_xy[j];
  return t;
}

/// x S x of the strain S at a particle.
double strain_along(const ForceTarget& of, double x, double y, double z) {
  return of.strain_xx * x * x + of.strain_yy * y * y + of.strain_zz * z * z +
         2 * (of.strain_yz * y * z + of.strain_xz * x * z + of.strain_xy * x * y);
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
  // In the reconstructed scheme, what both gradients of the flow explain is not dissipated.
  const double own = strain_along(a, x, y, z), other = strain_along(strain_of(s, j), x, y, z);
  const double limiter = own * other > 0 ? 4 * own * other / std::pow(own + other, 2) : 0;
  const double linear = scheme.kind == SchemeKind::reconstructed ? limiter * (own + other) / 2 / r : 0;
  const double mu = std::min(vr - linear, 0.0);
  const double signal = ca + cb - static_cast<double>(shock_viscosity(scheme).approach) * mu;
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
          ca + cb - 3 * std::min(vr, 0.0)};
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

class Kernels : public testing::TestWithParam<KernelTraits> {
 protected:
  const KernelKind kind_ = GetParam().kind;
};

TEST_P(Kernels, density_is_by_the_formula) {
  const Cloud cloud{300};
  const ForceSources sources = cloud.sources();
  std::vector<DensityTarget> targets;
  for (const ForceTarget& target : cloud.targets()) {
    targets.push_back(target);
  }
  std::vector<DensitySums> sums(targets.size());
  sum_density(kind_, targets, sources, sums);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    Sums wanted{};
    for (std::size_t j = 0; j < cloud.real; ++j) {
      const Sums part = density_by_the_formula(kind_, targets[i], sources, j);
      for (std::size_t c = 0; c < sum_count; ++c) {
        wanted[c] += part[c];
      }
    }
    const Sums got = as_array(sums[i]);
    for (std::size_t c = 0; c < sum_count; ++c) {
      const double scale = c == 0 ? wanted[0] : c == 1 ? wanted[0] / 0.2 : c == 2 ? wanted[2] : wanted[2] / 0.2;
      ASSERT_NEAR(got[c], wanted[c], 1e-5 * scale) << "particle " << i << ", sum " << c;
    }
  }
}

TEST_P(Kernels, have_unit_volume_and_their_slopes) {
  double volume = 0;
  constexpr int steps = 20000;
  for (int i = 0; i < steps; ++i) {
    const double q = (i + 0.5) / steps;
    volume += 4 * M_PI * q * q * kernel_at(kind_, q).w / steps;
    const double slope = (kernel_at(kind_, q + 1e-5).w - kernel_at(kind_, q - 1e-5).w) / 2e-5;
    ASSERT_NEAR(kernel_at(kind_, q).slope, slope, 1e-3) << q;
  }
  EXPECT_NEAR(volume, 1, 1e-6);
}

/// The smoothing length is twice the standard deviation along an axis: sigma^2 is a third of the mean of r^2.
TEST_P(Kernels, have_smoothing_lengths_of_two_standard_deviations) {
  double variance = 0;
  constexpr int steps = 20000;
  for (int i = 0; i < steps; ++i) {
    const double q = (i + 0.5) / steps;
    variance += 4 * M_PI / 3 * std::pow(q, 4) * kernel_at(kind_, q).w / steps;
  }
  EXPECT_NEAR(2 * std::sqrt(variance) * support_ratio(kind_), 1, 1e-5);
}

TEST_P(Kernels, forces_are_by_the_formula) {
  for (const SchemeName& scheme : scheme_names) {
    SCOPED_TRACE(scheme.name);
    expect_forces_by_the_formula({.kind = scheme.kind, .kernel = kind_, .gamma = 1.4F});
  }
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, testing::ValuesIn(kernel_traits), [](const auto& tested) {
  std::string name{tested.param.name};
  std::ranges::replace(name, '-', '_');
  return name;
});

void expect_forces_to_add_up_to_nothing(const Scheme& scheme) {
  const Cloud cloud{400, 3};
  const std::vector<ForceTarget> targets = cloud.targets();
  std::vector<ForceSums> sums(targets.size());
  sum_forces(scheme, targets, cloud.sources(), sums);
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

TEST(PairSums, forces_of_all_on_all_add_up_to_nothing) {
  for (const SchemeName& scheme : scheme_names) {
    SCOPED_TRACE(scheme.name);
    expect_forces_to_add_up_to_nothing({.kind = scheme.kind});
  }
}

/// Of a particle in the middle of others whose velocity is a matrix times their place.
TEST(PairSums, a_linear_flow_has_no_viscosity_where_it_is_reconstructed) {
  Cloud cloud{400, 5};
  const std::array<float, 6> strain{-1, -0.5F, 0.25F, 0.3F, -0.2F, 0.4F};  // xx, yy, zz, yz, xz, xy
  for (std::size_t i = 0; i < cloud.real; ++i) {
    const float x = cloud.columns[0][i], y = cloud.columns[1][i], z = cloud.columns[2][i];
    cloud.columns[3][i] = strain[0] * x + strain[5] * y + strain[4] * z - 0.7F * y;  // and a rotation
    cloud.columns[4][i] = strain[5] * x + strain[1] * y + strain[3] * z + 0.7F * x;
    cloud.columns[5][i] = strain[4] * x + strain[3] * y + strain[2] * z;
    for (std::size_t c = 0; c < 6; ++c) {
      cloud.columns[13 + c][i] = strain[c];
    }
  }
  const auto force_on = [&](float viscosity) {
    std::ranges::fill(cloud.columns[11], viscosity);
    const std::vector<ForceTarget> target(1, cloud.target(17));
    std::vector<ForceSums> sums(1);
    sum_forces({.kind = SchemeKind::reconstructed}, target, cloud.sources(), sums);
    return sums[0];
  };
  const ForceSums without = force_on(0);
  const ForceSums with = force_on(5);
  EXPECT_NEAR(with.x, without.x, 1e-4 * std::abs(without.x));
  EXPECT_NEAR(with.energy_rate, without.energy_rate, 1e-4 * std::abs(without.energy_rate));
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
