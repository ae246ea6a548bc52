// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "ring/simulation.hpp"
#include "support/mpi/run_steps.hpp"

namespace ring {

/// The options of `plait-ring run`.
struct RunSettings {
  std::filesystem::path input;
  app::StepSettings steps;
  std::vector<std::function<void(Parameters&)>> changes;  ///< Of the snapshot's parameters.
  Sharing sharing;
};

/// Makes a ring and writes it, as text when the file's name ends in .txt.
void make_initial_condition(const RingShape& shape, const std::filesystem::path& output);

/// Reads one format and writes the other.
void convert(const std::filesystem::path& input, const std::filesystem::path& output);

/// Integrates a ring on all ranks of the runtime, and writes snapshots. Collective. Throws: `app::AgreedError` on every
/// rank for input and output.
void run_ring(plait::Runtime& runtime, const RunSettings& settings);

}  // namespace ring
