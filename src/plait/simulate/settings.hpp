// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "plait/base/error.hpp"
#include "plait/net/sim/sim.hpp"
#include "plait/replay/predict/platform.hpp"
#include "plait/simulate/faults.hpp"
#include "plait/simulate/task_costs.hpp"
#include "plait/simulate/virtual_time.hpp"

namespace plait::simulate {

/// What `plait simulate` wants of the program that it starts.
struct SimulationSettings {
  std::uint32_t ranks = 1;
  std::optional<replay::Platform> platform;  ///< Nothing: the costs of `net::SimOptions`.
  TaskCostSettings costs;
  OutsideCost outside = OutsideCost::none;
  std::size_t stack_bytes = std::size_t{512} * 1024;  ///< Of each rank and each further worker.
  bool is_progress_shown = true;                      ///< On stderr, if that is a terminal.
  std::optional<FaultSettings> faults;
  std::filesystem::path report;  ///< Where the library writes what it has simulated; empty: nowhere.
};

/// Reads the file of settings, JSON: `ranks`, `platform` (a file), `kinds` (nanoseconds by name), `skip_bodies`,
/// `scale`, `overhead_ns`, `other_kinds_ns`, `outside` (`none` or `measured`), `stack_bytes`, `progress`, `report`,
/// `faults` (`seed`, `kinds`, `run_length_ns`, `disk`); all but `ranks` may be absent. Error: `io` or `bad_input`, with
/// the name of the file.
[[nodiscard]] Result<SimulationSettings> read_settings(const std::filesystem::path& file);

}  // namespace plait::simulate
