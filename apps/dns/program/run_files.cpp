// SPDX-License-Identifier: Apache-2.0
#include "dns/program/run_files.hpp"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>

#include "dns/output/field_file.hpp"
#include "support/agree.hpp"
#include "support/output_folder.hpp"

namespace dns {
namespace {

std::array<std::uint64_t, 3> points_of(const Solver& solver) {
  const auto& n = solver.plan().physical().lengths;
  return {static_cast<std::uint64_t>(n[0]), static_cast<std::uint64_t>(n[1]), static_cast<std::uint64_t>(n[2])};
}

app::OutputFolder folder_of(const RunSettings& settings, std::filesystem::path path) {
  return {.path = std::move(path),
          .option = "--output",
          .prefix = "dns-",
          .existing = settings.restarts     ? app::Existing::kept
                      : settings.overwrites ? app::Existing::removed
                                            : app::Existing::refused,
          .remedy = "--force, or go on from its checkpoints with --restart"};
}

}  // namespace

RunFiles::RunFiles(plait::Runtime& runtime, const RunSettings& settings, Solver& solver)
    : runtime_{runtime},
      settings_{settings},
      solver_{solver},
      is_first_{runtime.self() == plait::Rank{0}},
      folder_{settings.has_output() ? app::choose_output(settings.output, "fields", "dns-output") : ""},
      precision_{settings.output_precision()} {
  on_first([&] { make_folders(); });
  if (settings_.has_checkpoints()) {
    store_ = plait::make_checkpoints(runtime_, {.folder = settings_.checkpoint_folder}, MPI_COMM_WORLD);
  }
}

void RunFiles::make_folders() {
  if (settings_.has_checkpoints()) {
    app::OutputFolder checkpoints = folder_of(settings_, settings_.checkpoint_folder);
    checkpoints.option = "--checkpoint-folder";
    checkpoints.prefix = "checkpoint-";
    app::prepare_output(checkpoints);
  }
  if (!settings_.has_output()) {
    return;
  }
  app::prepare_output(folder_of(settings_, folder_));
  series_.emplace(folder_, solver_.plan().physical().lengths, field_names());
  measured_.emplace(folder_ / "diagnostics.h5",
                    DiagnosticsFile::Header{.points = points_of(solver_),
                                            .viscosity = solver_.physics().viscosity,
                                            .k_max = solver_.modes().k_max(),
                                            .shells = solver_.modes().shells(),
                                            .scalars = solver_.physics().scalars});
}

void RunFiles::on_first(const std::function<void()>& work) {
  app::agree(runtime_, [&] {
    if (is_first_) {
      work();
    }
  });
}

app::Description RunFiles::description() const {
  const Physics& physics = solver_.physics();
  app::Description text{{"points", fmt::format("{}", fmt::join(points_of(solver_), " x "))},
                        {"viscosity", fmt::format("{}", physics.viscosity)},
                        {"scheme", settings_.scheme},
                        {"dealiasing", settings_.dealias},
                        {"seed", fmt::format("{}", settings_.seed)},
                        {"forcing", settings_.forcing}};
  if (physics.forcing.kind != ForcingKind::none) {
    text["forcing"] += fmt::format(" up to {}, power {}, variance {}, time {}",
                                   physics.forcing.wavenumber_max,
                                   physics.forcing.power,
                                   physics.forcing.variance,
                                   physics.forcing.correlation_time);
  }
  std::string& scalars = text["scalars"];
  for (const ScalarPhysics& scalar : physics.scalars) {
    scalars += fmt::format("{} {} {};", scalar.name, scalar.schmidt, fmt::join(scalar.mean_gradient, " "));
  }
  return text;
}

std::vector<std::string> RunFiles::field_names() const {
  std::vector<std::string> names{"velocity/x", "velocity/y", "velocity/z", "vorticity_magnitude"};
  for (const ScalarPhysics& scalar : solver_.physics().scalars) {
    names.push_back("scalars/" + scalar.name);
  }
  return names;
}

std::optional<double> RunFiles::go_on() {
  if (!settings_.restarts) {
    return {};
  }
  const plait::fft::Plan& plan = solver_.plan();
  const std::optional<plait::data::NewestCheckpoint> newest =
      app::find_checkpoint(*store_,
                           "plait-dns",
                           lines_to_owners(plan.spectral().lengths, plan.grid()),
                           settings_.checkpoint_folder,
                           is_first_);
  if (!newest) {
    return {};
  }
  RunState state;
  app::agree(runtime_, [&] {
    app::throw_unless_same(newest->checkpoint, description());
    state = from_checkpoint(newest->checkpoint, plan.spectral(), solver_.fields());
    if ((settings_.steps > 0 && state.step > settings_.steps) ||
        (settings_.time_end > 0 && state.time > settings_.time_end)) {
      throw plait::Error{
          plait::ErrorCode::bad_argument,
          fmt::format("{} is of step {} and time {:.6g}, after the end of this run: give a later --steps "
                      "or --time-end",
                      newest->file.string(),
                      state.step,
                      state.time)};
    }
    solver_.set_time(state.time, state.step);
    solver_.set_forcing_state(state.forcing);
    if (is_first_ && measured_) {
      measured_->take_over(state.step);
      series_->take_in(state.step);
    }
  });
  if (is_first_) {
    fmt::print("restarted from step {} (time {:.6g}) of {}\n", state.step, state.time, newest->file.string());
  }
  return state.courant_rate;
}

void RunFiles::note(const Diagnostics& measured, const RunNotes& notes) {
  if (settings_.has_output()) {
    on_first([&] { measured_->append(measured, notes); });
  }
}

void RunFiles::write_fields() {
  if (!settings_.has_output()) {
    return;
  }
  solver_.to_points();
  FieldStep step{.step = solver_.step_count(),
                 .time = solver_.time(),
                 .viscosity = solver_.physics().viscosity,
                 .layout = solver_.plan().physical(),
                 .fields = {}};
  const std::span<double> magnitude = solver_.vorticity(0);  // in the place of its x component
  for (std::size_t i = 0; i < magnitude.size(); ++i) {
    magnitude[i] = std::hypot(magnitude[i], solver_.vorticity(1)[i], solver_.vorticity(2)[i]);
  }
  const std::vector<std::string> names = field_names();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    step.fields.push_back({names[axis], solver_.velocity(axis)});
  }
  step.fields.push_back({names[3], magnitude});
  for (std::size_t i = 0; i < solver_.physics().scalars.size(); ++i) {
    step.fields.push_back({names[4 + i], solver_.scalar(i)});
  }
  // A rank that waits inside HDF5 forwards no messages that other ranks need to get here.
  plait::barrier(runtime_.messages());
  runtime_.messages().drain();
  app::as_agreed([&] {
    const auto lock = runtime_.messages().hold();
    return dns::write_fields(field_file(folder_, step.step), step, precision_, MPI_COMM_WORLD).value();
  });
  on_first([&] { series_->add(step.step, step.time, precision_); });
}

void RunFiles::write_checkpoint(double courant_rate) {
  const RunState state{solver_.time(), solver_.step_count(), courant_rate, solver_.forcing_state()};
  app::as_agreed([&] {
    return store_->write(
        to_checkpoint(std::as_const(solver_).fields(), solver_.plan().spectral(), state, description()));
  });
}

void RunFiles::finish() {
  if (settings_.has_output()) {
    on_first([&] { measured_->finish(); });
  }
}

}  // namespace dns
