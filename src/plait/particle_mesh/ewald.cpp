// SPDX-License-Identifier: Apache-2.0
#include "plait/particle_mesh/ewald.hpp"

#include <cmath>
#include <complex>
#include <numbers>

#include "plait/base/error.hpp"

namespace plait::particles {

namespace {

/// In units of the edge of the box.
constexpr double ewald_alpha = 2.5;
constexpr int ewald_images = 2;
constexpr int ewald_waves = 4;

/// Of a unit charge at `d` and all its images, erfc(alpha r) / r, in a box of edge 1. `is_self` leaves out r = 0.
void add_near(const Vector& d, double charge, bool is_self, Vector& force, double& potential) {
  for (int x = -ewald_images; x <= ewald_images; ++x) {
    for (int y = -ewald_images; y <= ewald_images; ++y) {
      for (int z = -ewald_images; z <= ewald_images; ++z) {
        const Vector at = d + Vector{static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)};
        const double r2 = dot(at, at);
        if (r2 == 0 && is_self) {
          continue;
        }
        const double r = std::sqrt(r2);
        const double u = ewald_alpha * r;
        const double rest = std::erfc(u);
        potential -= charge * rest / r;
        force += (charge * (rest + 2 * u * std::numbers::inv_sqrtpi * std::exp(-u * u)) / (r2 * r)) * at;
      }
    }
  }
}

}  // namespace

EwaldField ewald_field(const Box& box, std::span<const Vector> places, std::span<const double> charges) {
  const Vector edges = box.high - box.low;
  if (places.size() != charges.size() || edges.x != edges.y || edges.y != edges.z || !(edges.x > 0)) {
    throw Error{ErrorCode::bad_argument, "Ewald sums need a place for each charge, and a box that is a cube"};
  }
  const double edge = edges.x;
  const double pi = std::numbers::pi;
  EwaldField field{std::vector<Vector>(places.size()), std::vector<double>(places.size())};
  double total = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    total += charges[i];
    for (std::size_t j = 0; j < places.size(); ++j) {
      if (charges[j] == 0) {
        continue;
      }
      const Vector d = (1 / edge) * (places[j] - places[i]);
      const Vector near{std::remainder(d.x, 1.0), std::remainder(d.y, 1.0), std::remainder(d.z, 1.0)};
      add_near(near, charges[j], i == j, field.acceleration[i], field.potential[i]);
    }
  }
  std::vector<std::complex<double>> phases(places.size());
  for (int x = -ewald_waves; x <= ewald_waves; ++x) {
    for (int y = -ewald_waves; y <= ewald_waves; ++y) {
      for (int z = -ewald_waves; z <= ewald_waves; ++z) {
        const int square = x * x + y * y + z * z;
        if (square == 0) {
          continue;
        }
        const Vector k = 2 * pi * Vector{static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)};
        std::complex<double> sum = 0;
        for (std::size_t i = 0; i < places.size(); ++i) {
          phases[i] = std::polar(1.0, -dot(k, (1 / edge) * (places[i] - box.low)));
          sum += charges[i] * phases[i];
        }
        const double k2 = dot(k, k);
        const double weight = 4 * pi / k2 * std::exp(-k2 / (4 * ewald_alpha * ewald_alpha));
        for (std::size_t i = 0; i < places.size(); ++i) {
          const std::complex<double> value = sum * std::conj(phases[i]);
          field.potential[i] -= weight * value.real();
          field.acceleration[i] += (-weight * value.imag()) * k;
        }
      }
    }
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double own = 2 * ewald_alpha * std::numbers::inv_sqrtpi * charges[i];
    field.potential[i] += pi / (ewald_alpha * ewald_alpha) * total + own;
    field.potential[i] /= edge;
    field.acceleration[i] = (1 / (edge * edge)) * field.acceleration[i];
  }
  return field;
}

}  // namespace plait::particles
