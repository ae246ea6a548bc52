// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ring/initial_condition.hpp"
#include "ring/parameters.hpp"

namespace ring {

/// What the command line of `plait-ring init` says.
struct InitSettings {
  RingShape shape;
  std::filesystem::path output = "ring.hdf5";
};

/// What the command line of `plait-ring run` says; what it does not say comes from the snapshot.
struct RunSettings {
  std::filesystem::path input;
  std::filesystem::path output;  ///< Empty: the run's folder under `plait run`, else ring-output.
  bool overwrites = false;
  std::optional<std::uint64_t> steps;
  std::optional<double> until;
  std::uint64_t snapshot_steps = 0;  ///< 0: at the begin and the end only.
  std::uint64_t diagnose_steps = 64;

  std::optional<double> time_step;
  std::optional<double> theta;
  std::optional<std::string> order;
  std::optional<double> softening;
  std::optional<double> collision_radius;
  std::optional<double> restitution;
  std::optional<double> contact_steps;
  std::optional<double> central_mass;
  std::optional<std::uint32_t> leaf_bodies_max;
  std::optional<std::uint32_t> group_bodies_max;
  std::uint32_t radial_divisions = 1;
  std::uint32_t vertical_divisions = 1;
  std::uint32_t decompose_steps = 4;
  std::vector<std::string> command;  ///< The whole command line, for the trace.
};

/// What the command line of `plait-ring convert` says.
struct ConvertSettings {
  std::filesystem::path input;
  std::filesystem::path output;
};

/// The parameters of a run: those of the snapshot, with what the command line says instead.
/// Throws: `plait::Error` with `bad_argument` that names the option, when a value makes no sense.
[[nodiscard]] Parameters merge(const Parameters& of_snapshot, const RunSettings& settings);

}  // namespace ring
