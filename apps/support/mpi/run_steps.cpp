// SPDX-License-Identifier: Apache-2.0
#include "support/mpi/run_steps.hpp"

#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "support/output_folder.hpp"
#include "support/progress_bar.hpp"

namespace app {

using plait::Error;
using plait::ErrorCode;

void add_step_options(CLI::App& app, StepSettings& settings, const std::string& length, const std::string& until) {
  app.add_option(
      "-o,--output", settings.output, "Folder for snapshots [the run's folder under `plait run`, else here]");
  app.add_flag("--force,--overwrite", settings.overwrites, "Replace the snapshots of another run");
  auto* const steps = app.add_option("--steps", settings.steps, fmt::format("Steps to make [{}]", length));
  app.add_option("--until", settings.until, until)->excludes(steps);
  app.add_option("--snapshot-every", settings.snapshot_steps, "Steps between snapshots; 0: at begin and end only")
      ->capture_default_str();
  app.add_option("--diagnose-every", settings.diagnose_steps, "Steps between lines of energy; 0: at begin and end only")
      ->capture_default_str();
}

SnapshotFolder::SnapshotFolder(std::string name_of, const StepSettings& settings)
    : name{std::move(name_of)}, folder{choose_output(settings.output, "snapshots", name + "-output")} {}

void SnapshotFolder::prepare(const StepSettings& settings) const {
  prepare_output({.path = folder,
                  .prefix = name + "-",
                  .suffix = ".hdf5",
                  .existing = settings.overwrites ? Existing::kept : Existing::refused});
}

std::filesystem::path SnapshotFolder::file(std::uint64_t step) const {
  return folder / fmt::format("{}-{:08}.hdf5", name, step);
}

std::uint64_t steps_wanted(const StepSettings& settings, double time, double dt, double until) {
  if (settings.steps) {
    return *settings.steps;
  }
  const double end = settings.until.value_or(until);
  const double steps = std::ceil((end - time) / dt - 1e-9);
  if (!(steps >= 0) || steps > 1e15) {
    throw Error{ErrorCode::bad_argument, fmt::format("--until {} is not after the time {} of the snapshot", end, time)};
  }
  return static_cast<std::uint64_t>(steps);
}

void run_steps(plait::Runtime& runtime, std::uint64_t steps, const StepSettings& settings, const StepActions& actions) {
  actions.diagnose();
  actions.write();
  ProgressBar bar{steps, runtime.self() == plait::Rank{0}, "steps"};
  for (std::uint64_t done = 1; done <= steps; ++done) {
    actions.step();
    const auto is_due = [&](std::uint64_t every) { return done == steps || (every > 0 && done % every == 0); };
    if (is_due(settings.diagnose_steps)) {
      bar.clear();
      actions.diagnose();
    }
    if (is_due(settings.snapshot_steps)) {
      actions.write();
    }
    bar.update(done);
  }
  bar.clear();
}

void print_times(plait::Runtime& runtime, const plait::particles::StepTimes& mine) {
  const auto times = plait::all_gather_values(runtime.messages(), mine);
  if (runtime.self() == plait::Rank{0}) {
    fmt::print("\n{}", plait::particles::times_table(times, runtime.worker_count()));
  }
}

DriftMonitor::DriftMonitor(plait::Runtime& runtime, double energy_begin)
    : runtime_{runtime},
      energy_drift_{runtime.trace().name(plait::trace::Role::counter, "relative energy drift")},
      momentum_drift_{runtime.trace().name(plait::trace::Role::counter, "relative angular momentum drift")},
      energy_begin_{energy_begin} {}

void DriftMonitor::note(const Values& now) {
  if (energy_begin_ == 0) {
    energy_begin_ = now.energy;
  }
  if (momentum_begin_ == 0) {
    momentum_begin_ = now.angular_momentum;
  }
  const auto drift = [](double value, double begin) { return begin != 0 ? (value - begin) / std::abs(begin) : value; };
  const double energy = drift(now.energy, energy_begin_);
  const double momentum = drift(now.angular_momentum, momentum_begin_);
  if (!std::isfinite(energy) || !std::isfinite(momentum)) {
    throw Error{ErrorCode::bad_input,
                fmt::format("the energy is not finite at step {}: is the time step too long?", now.step)};
  }
  if (runtime_.self() != plait::Rank{0}) {
    return;
  }
  auto& trace = runtime_.trace().thread({}, "program");
  const auto step = static_cast<std::uint32_t>(now.step);
  trace.counter({.name = energy_drift_, .time = runtime_.trace().now(), .value = energy, .step = step});
  trace.counter({.name = momentum_drift_, .time = runtime_.trace().now(), .value = momentum, .step = step});
  fmt::print("step {:>8}  time {:>10.5f}  energy {:+.10e} (drift {:+.2e})  angular momentum {:+.10e} (drift {:+.2e})\n",
             now.step,
             now.time,
             now.energy,
             energy,
             now.angular_momentum,
             momentum);
  std::fflush(stdout);
}

}  // namespace app
