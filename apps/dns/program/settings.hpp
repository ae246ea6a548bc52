// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

#include "dns/output/field_file.hpp"
#include "dns/physics.hpp"

namespace dns {

/// What to do if the given time step exceeds the stability limit.
enum class OnCourant : std::uint8_t { stop, warn, adapt };

/// The options of plait-dns, as given on the command line.
struct RunSettings {
  std::string problem = "taylor-green";
  std::vector<plait::fft::Index> points;  ///< One number or three; empty: the file's, or 64.
  std::string field;                      ///< File of the initial field.
  bool resamples = false;
  double energy = 0.5;  ///< Of `isotropic`.
  double peak = 4;      ///< Of `isotropic`: wave number.
  std::uint64_t seed = 1;

  double reynolds = 0;    ///< 0: not given.
  double viscosity = -1;  ///< Below 0: not given.
  std::string forcing = "none";
  double forcing_wavenumber = 2;
  double forcing_power = 0.1;
  double forcing_variance = 0.01;
  double forcing_time = 1;
  std::vector<double> schmidt;  ///< Of each scalar.
  double scalar_gradient = 0;   ///< Along x.

  std::string scheme = "rk4";
  std::string dealias = "truncation";
  std::uint64_t steps = 0;  ///< 0: until `time_end`.
  double time_end = 0;      ///< 0: until `steps`.
  double time_step = 0;     ///< 0: by `courant`.
  double courant = 0;       ///< 0: half of the limit, unless `time_step` is given.
  std::string on_courant = "stop";

  std::string grid;  ///< As "2x3"; empty: chosen.
  std::string variant = "PLT";
  std::uint32_t pieces = 0;
  std::string effort = "measure";
  double memory_limit_gib = 0;  ///< Per node; 0: what the system has available.

  std::uint64_t diagnose_steps = 10;  ///< Between lines; 0: at the start and end only.
  std::string output;                 ///< Folder; empty: chosen if fields are written.
  std::uint64_t output_steps = 0;     ///< Between files of fields; 0: with a folder, at start and end only.
  std::string precision = "single";
  bool overwrites = false;
  std::uint64_t checkpoint_steps = 0;  ///< Between checkpoints; 0: none.
  std::string checkpoint_folder = "dns-checkpoints";
  bool restarts = false;

  [[nodiscard]] bool has_checkpoints() const noexcept { return checkpoint_steps > 0 || restarts; }
  [[nodiscard]] bool has_output() const noexcept { return !output.empty() || output_steps > 0; }
  /// Steps are as long as the flow allows.
  [[nodiscard]] bool is_adaptive() const noexcept { return time_step == 0 || courant > 0; }

  // The options' values. Throw: `plait::Error` that names an invalid option.
  [[nodiscard]] Physics physics() const;
  [[nodiscard]] Scheme numerics() const;
  [[nodiscard]] plait::fft::PlanOptions plan_options() const;
  [[nodiscard]] OnCourant courant_policy() const;
  [[nodiscard]] Precision output_precision() const;
  /// Checks all options. Throws: `plait::Error` that names an invalid one.
  void check() const;
};

}  // namespace dns
