// SPDX-License-Identifier: Apache-2.0
// Writes a small snapshot of gas and dark matter for readers in other languages: particles_sample_file FILE
#include <cstdio>
#include <exception>

#include "plait/particles/hdf5/snapshot.hpp"

#include "particles/hdf5/sample.hpp"

int main(int argc, char** argv) try {
  namespace hdf5 = plait::particles::hdf5;
  if (argc != 2) {
    std::fputs("usage: particles_sample_file FILE\n", stderr);
    return 2;
  }
  hdf5::test::Sample sample;
  const auto density = sample.particles.add_field<float>("density");
  const auto length = sample.particles.add_field<float>("smoothing length");
  sample.fill(0, 200);
  for (std::size_t i = 0; i < 200; ++i) {
    sample.particles[density][i] = 2;
    sample.particles[length][i] = 0.25F;
    sample.particles[sample.energy][i] = 1.5F;
  }
  hdf5::SnapshotLayout layout = sample.layout();
  const std::uint64_t gas = hdf5::kind_bit(0);
  layout.datasets.emplace_back(
      "Densities",
      density,
      hdf5::Dataset::Traits{.dimension = hdf5::density_dimension, .description = "Densities", .kinds = gas});
  layout.datasets.emplace_back(
      "SmoothingLengths",
      length,
      hdf5::Dataset::Traits{.dimension = hdf5::length_dimension, .description = "Smoothing lengths", .kinds = gas});
  hdf5::SnapshotHeader header;
  header.time = 0.5;
  header.box = {1, 1, 1};
  header.is_periodic = true;
  static_cast<void>(hdf5::write_snapshot(argv[1], header, layout, sample.particles).value());
  return 0;
} catch (const std::exception& trouble) {
  std::fprintf(stderr, "particles_sample_file: %s\n", trouble.what());
  return 1;
}
