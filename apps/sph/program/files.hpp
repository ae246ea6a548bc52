// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "plait/particles/hdf5/snapshot.hpp"

#include "sph/diagnostics.hpp"
#include "sph/problem.hpp"

namespace sph {

/// The state of a run besides its particles.
struct RunState {
  double time = 0;
  std::uint64_t step = 0;
  Totals begin;  ///< At the start of the whole run, as the reference of conserved quantities.
  /// Present if each rank has all fields of the particles of that rank, in their order.
  std::optional<plait::particles::SavedSteps> steps;
  ProblemOptions options;  ///< Of the problem, if it has a name.
};

/// The names of data sets: those of SWIFT's snapshots, or of its initial conditions, which are GADGET's.
enum class Naming : std::uint8_t { snapshot, initial_condition };
[[nodiscard]] plait::particles::hdf5::SnapshotLayout layout_of(const GasFields& fields, Naming naming);

/// What a bitwise equal run needs besides a snapshot's results: every other field of the store.
struct StateFields {
  const GasFields& gas;
  const plait::particles::StepFields& steps;
  /// The particle's number on its rank, as files order particles by kind.
  Field<std::uint32_t> place = gas.store.add_field<std::uint32_t>("place");
};
void add_state(const StateFields& fields, plait::particles::hdf5::SnapshotLayout& layout);
/// Sets these fields to zero, except those of particles at the last kick, which become those of now.
void forget_state(const StateFields& fields);
/// For `StateFields::place`, before a file is written.
void number_places(const StateFields& fields);

[[nodiscard]] plait::particles::hdf5::SnapshotHeader header_of(const Problem& problem, const RunState& state);

/// A problem from a file.
struct Loaded {
  Problem problem;
  RunState state;
};
/// Reads the part of `rank` of `ranks` into `store`. Files of this program continue with their scheme, others with the
/// default scheme. Throws: `plait::Error` that names file and data set; also for smoothing lengths that are not
/// positive.
[[nodiscard]] Loaded load(const std::filesystem::path& file,
                          Particles& store,
                          const StateFields& fields,
                          std::uint32_t rank,
                          std::uint32_t ranks);

}  // namespace sph
