// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "plait/plait.hpp"

#include "sph/problem.hpp"

namespace sph {

/// The options of `plait-sph init`.
struct InitSettings {
  std::string problem;
  ProblemOptions options;
  std::filesystem::path output = "sph.hdf5";
};

/// The snapshots of a run.
struct SnapshotSettings {
  std::uint32_t count = 1;  ///< After the first, evenly in time.
  bool are_small = false;   ///< With results only.
};

/// Copies in the memory of hosts.
struct CopySettings {
  std::uint64_t steps = 0;  ///< Between two; 0: none.
  std::filesystem::path folder = "/dev/shm/plait-sph";
  bool restarts = false;  ///< From the newest copy, if there is one.
};

/// The options of `plait-sph run`; the problem or the file provides what is not given.
struct RunSettings {
  std::filesystem::path input;  ///< A file, or
  std::string problem;          ///< the name of a problem.
  ProblemOptions options;
  std::filesystem::path output;  ///< Empty: the run's folder under `plait run`, else sph-output.
  bool overwrites = false;
  std::optional<double> until;
  std::optional<std::uint64_t> steps;
  SnapshotSettings snapshots;
  CopySettings copies;
  std::string time_steps = "individual";
  double step_min = 1e-9;  ///< As a fraction of the run.

  std::optional<std::string> scheme;
  std::optional<std::string> kernel;
  std::optional<float> eta;
  std::optional<float> gamma;
  std::optional<float> courant;
  std::optional<float> viscosity;
  std::optional<float> smoothing_max;
  std::optional<float> energy_min;
  std::optional<double> gravity;
  std::optional<double> softening;
  std::optional<double> accuracy;  ///< Of gravity's steps.
  std::optional<double> theta;
};

/// `plait-sph run` on the ranks of a runtime. Throws: `app::AgreedError` on all ranks for errors that concern all.
void run_sph(plait::Runtime& runtime, const RunSettings& settings);

/// `plait-sph init`: writes the initial condition of a problem to a file.
void write_initial_condition(const InitSettings& settings);

}  // namespace sph
