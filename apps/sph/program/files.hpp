// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "plait/particles/hdf5/snapshot.hpp"

#include "sph/diagnostics.hpp"
#include "sph/problem.hpp"

namespace sph {

/// What a run needs besides its particles to go on.
struct RunState {
  double time = 0;
  std::uint64_t step = 0;
  Totals begin;            ///< At the beginning of the whole run, for what is kept.
  ProblemOptions options;  ///< Of the problem, where it is a known one.
};

/// The layout of particles in files: as SWIFT names them in its snapshots, or in its initial conditions, which are
/// GADGET's.
enum class Naming : std::uint8_t { snapshot, initial_condition };
[[nodiscard]] plait::particles::hdf5::SnapshotLayout layout_of(const GasFields& fields, Naming naming);

/// What is written besides particles.
[[nodiscard]] plait::particles::hdf5::SnapshotHeader header_of(const Problem& problem, const RunState& state);

/// A problem as a file has it.
struct Loaded {
  Problem problem;
  RunState state;
};
/// Reads the share of `rank` of `ranks` into `store`. Files of this program go on as they stopped; those of others
/// begin with the scheme's defaults. Throws: `plait::Error` that names file and data set; also for smoothing lengths
/// that are not positive.
[[nodiscard]] Loaded load(const std::filesystem::path& file,
                          Particles& store,
                          const GasFields& fields,
                          std::uint32_t rank,
                          std::uint32_t ranks);

}  // namespace sph
