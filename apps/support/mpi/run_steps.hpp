// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

namespace app {

/// The options of programs that step in time and write snapshots.
struct StepSettings {
  std::filesystem::path output;  ///< Empty: the run's folder under `plait run`, else one named after the program.
  bool overwrites = false;
  std::optional<std::uint64_t> steps;
  std::optional<double> until;
  std::uint64_t snapshot_steps = 0;  ///< 0: at the begin and the end only.
  std::uint64_t diagnose_steps = 64;
};

/// Adds the options to `app`; `length` describes the length of a run without them, `until` the
/// option of that name.
void add_step_options(CLI::App& app,
                      StepSettings& settings,
                      const std::string& length,
                      const std::string& until = "Time to reach");

/// A program's snapshots in a folder: NAME-00000012.hdf5.
struct SnapshotFolder {
  std::string name;
  std::filesystem::path folder;

  SnapshotFolder(std::string name, const StepSettings& settings);
  /// Creates the folder; call it on one rank. Throws: `plait::Error` when it is not writable, or has files of another
  /// run.
  void prepare(const StepSettings& settings) const;
  [[nodiscard]] std::filesystem::path file(std::uint64_t step) const;
};

/// The number of steps of length `dt` from `time`; to `until` if the settings have no end.
/// Throws: `plait::Error` that names the option when the end is before `time`.
[[nodiscard]] std::uint64_t steps_wanted(const StepSettings& settings, double time, double dt, double until);

struct StepActions {
  std::function<void()> step;
  std::function<void()> diagnose;
  std::function<void()> write;
};

/// Makes the steps, and diagnoses and writes before, between and after them. Rank 0 shows the progress.
void run_steps(plait::Runtime& runtime, std::uint64_t steps, const StepSettings& settings, const StepActions& actions);

/// Prints the times of all ranks on rank 0. `mine`: those of this rank. Collective.
void print_times(plait::Runtime& runtime, const plait::particles::StepTimes& mine);

/// Monitors the conservation of energy and angular momentum, relative to the first values.
class DriftMonitor {
 public:
  struct Values {
    std::uint64_t step = 0;
    double time = 0;
    double energy = 0;
    double angular_momentum = 0;
  };
  /// `energy_begin`: at the start of the run; 0 if this is the start.
  DriftMonitor(plait::Runtime& runtime, double energy_begin);

  /// Prints a line and records the relative changes in the trace, on rank 0.
  /// Throws: `plait::Error` on all ranks when they are not finite.
  void note(const Values& now);
  [[nodiscard]] double energy_begin() const noexcept { return energy_begin_; }

 private:
  plait::Runtime& runtime_;
  plait::trace::NameId energy_drift_;
  plait::trace::NameId momentum_drift_;
  double energy_begin_ = 0;
  double momentum_begin_ = 0;
};

}  // namespace app
