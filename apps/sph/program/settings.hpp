// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "sph/problem.hpp"

namespace sph {

/// The options of `plait-sph init`.
struct InitSettings {
  std::string problem;
  ProblemOptions options;
  std::filesystem::path output = "sph.hdf5";
};

/// The options of `plait-sph run`; what is not given comes from the problem or the file.
struct RunSettings {
  std::filesystem::path input;  ///< A file, or
  std::string problem;          ///< the name of a problem.
  ProblemOptions options;
  std::filesystem::path output;  ///< Empty: the run's folder under `plait run`, else sph-output.
  bool overwrites = false;
  std::optional<double> until;
  std::optional<std::uint64_t> steps;
  std::uint32_t snapshots = 1;  ///< Evenly in time, after the first.
  std::string time_steps = "individual";
  double step_min = 1e-9;  ///< In parts of the run.

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
  std::optional<double> theta;
};

/// The scheme of a run: that of the problem or file, with the options of the command line instead.
/// Throws: `plait::Error` with `bad_argument` that names the option, when a value makes no sense.
[[nodiscard]] Scheme merge(Scheme scheme, const RunSettings& settings);

}  // namespace sph
