// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "plait/particles/hdf5/snapshot.hpp"

namespace plait::particles::hdf5::test {

/// Particles with fields of all sorts: gas with an inner energy, and dark matter without, in turn.
struct Sample {
  Particles particles;
  Field<Vector> velocity = particles.add_field<Vector>("velocity");
  Field<double> mass = particles.add_field<double>("mass");
  Field<float> energy = particles.add_field<float>("energy");
  Field<std::array<float, 2>> pair = particles.add_field<std::array<float, 2>>("pair");
  Field<std::uint8_t> bin = particles.add_field<std::uint8_t>("bin");

  [[nodiscard]] SnapshotLayout layout() const {
    return {.units = {.length = 3, .mass = 5, .time = 7},
            .datasets = {
                {"Velocities", velocity, {.dimension = velocity_dimension, .description = "Velocities"}},
                {"Masses", mass, {.dimension = mass_dimension, .absent = Absent::mass_table, .valid = Valid::positive}},
                {"InternalEnergies", energy, {.dimension = specific_energy_dimension, .kinds = kind_bit(0)}},
                {"Pairs", pair, {.absent = Absent::zero, .valid = Valid::any}},
                {"TimeBins", bin, {}},
            }};
  }

  /// Adds those with ids first + 1 to last.
  void fill(std::uint64_t first, std::uint64_t last) {
    std::size_t at = particles.add(last - first);
    for (std::uint64_t i = first; i < last; ++i, ++at) {
      const double x = 1.0 / static_cast<double>(i + 3);
      particles.positions()[at] = {x, 1 - x, x * x};
      particles.ids()[at] = i + 1;
      particles[Particles::kind][at] = i % 2;
      particles[velocity][at] = {-x, x, 2 * x};
      particles[mass][at] = 1 + x;
      particles[energy][at] = i % 2 == 0 ? static_cast<float>(x) : 0.0F;
      particles[pair][at] = {static_cast<float>(i), -1.0F};
      particles[bin][at] = static_cast<std::uint8_t>(i % 100);
    }
  }
};

}  // namespace plait::particles::hdf5::test
