// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "plait/particles/store/particles.hpp"

namespace plait::particles::test {

/// A store with what long-range forces need.
struct Sample {
  Particles store;
  Field<double> mass = store.add_field<double>("mass");
  Field<Vector> velocity = store.add_field<Vector>("velocity");
  Field<Vector> acceleration = store.add_field<Vector>("acceleration");
  Field<double> potential = store.add_field<double>("potential");
};

/// `count` particles in a homogeneous sphere of radius and mass 1, of which those with number `first` to `last` - 1 are
/// added; the same places whatever part is taken.
inline void add_sphere(Sample& sample, std::size_t count, std::size_t first, std::size_t last) {
  std::mt19937_64 random{count};
  std::uniform_real_distribution<double> coordinate{-1, 1};
  for (std::size_t i = 0; i < count; ++i) {
    Vector p;
    do {
      p = {coordinate(random), coordinate(random), coordinate(random)};
    } while (dot(p, p) > 1);
    if (i < first || i >= last) {
      continue;
    }
    const std::size_t place = sample.store.add(1);
    sample.store.positions()[place] = p;
    sample.store.ids()[place] = i;
    sample.store[sample.mass][place] = 1.0 / static_cast<double>(count);
    sample.store[sample.velocity][place] = {p.y, -p.x, 0};
  }
}
inline void add_sphere(Sample& sample, std::size_t count) {
  add_sphere(sample, count, 0, count);
}

/// The pull of all particles on each, by plain summation.
inline std::vector<Vector> direct_accelerations(const Sample& sample, double softening = 0) {
  const auto positions = sample.store.positions();
  const auto masses = sample.store[sample.mass];
  std::vector<Vector> result(positions.size());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    for (std::size_t j = 0; j < positions.size(); ++j) {
      const Vector d = positions[j] - positions[i];
      const double r2 = dot(d, d) + softening * softening;
      if (i != j && r2 > 0) {
        result[i] += (masses[j] / (r2 * std::sqrt(r2))) * d;
      }
    }
  }
  return result;
}

/// What all do to each, as nearest images in a space of that period, within the cut-off.
inline std::vector<Vector> bounded_accelerations(const Sample& sample, const Vector& period, double cutoff) {
  const auto positions = sample.store.positions();
  const auto fold = [](double d, double length) { return length > 0 ? std::remainder(d, length) : d; };
  std::vector<Vector> result(positions.size());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    for (std::size_t j = 0; j < positions.size(); ++j) {
      const Vector difference = positions[j] - positions[i];
      const Vector d{fold(difference.x, period.x), fold(difference.y, period.y), fold(difference.z, period.z)};
      const double r2 = dot(d, d);
      if (i != j && r2 < cutoff * cutoff) {
        result[i] += (sample.store[sample.mass][j] / (r2 * std::sqrt(r2))) * d;
      }
    }
  }
  return result;
}

/// Root of the mean squared error, over that of the mean squared force.
inline double rms_error(std::span<const Vector> found, std::span<const Vector> expected) {
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error += dot(found[i] - expected[i], found[i] - expected[i]);
    norm += dot(expected[i], expected[i]);
  }
  return std::sqrt(error / norm);
}

}  // namespace plait::particles::test
