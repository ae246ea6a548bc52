// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "cosmology/initial_condition.hpp"
#include "support/mpi/run_steps.hpp"

namespace cosmology {

/// The options of `plait-cosmology run`.
struct RunSettings {
  std::filesystem::path input;
  app::StepSettings steps;
  StepKind kind = StepKind::equal;
  std::vector<std::function<void(RunState&)>> changes;  ///< Of what the file has.
  std::optional<double> redshift;                       ///< Of files without one.
  double file_length = 1;                               ///< Mpc; the unit of files that name none.
};

/// Makes an initial condition on all ranks and writes it. Collective. Throws: `app::AgreedError`.
void write_initial_condition(plait::Runtime& runtime, const InitialShape& shape, const std::filesystem::path& output);

/// Integrates a box on all ranks of the runtime; writes snapshots and power spectra. Collective. Throws:
/// `app::AgreedError` on every rank for input and output.
void run_cosmology(plait::Runtime& runtime, const RunSettings& settings);

}  // namespace cosmology
