// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>

#include <fmt/format.h>
#include <mpi.h>

#include "ring/parallel/simulation.hpp"
#include "ring/program/commands.hpp"
#include "ring/program/profile_table.hpp"
#include "ring/snapshot_parallel.hpp"
#include "ring/text_format.hpp"
#include "support/agree.hpp"
#include "support/progress_bar.hpp"

namespace ring {

namespace {

using plait::Error;
using plait::ErrorCode;
using plait::Rank;

Snapshot read_input(const std::filesystem::path& file, Rank rank, std::uint32_t ranks) {
  if (file.extension() != ".txt") {
    return read_snapshot(file, rank.value(), ranks).value();
  }
  TextBodies text = read_text(file).value();
  Snapshot snapshot;
  snapshot.state.time = text.time;
  snapshot.total = text.bodies.size();
  snapshot.slab = slab_of(snapshot.state, snapshot.total, rank.value(), ranks);
  const auto first = text.bodies.begin() + static_cast<std::ptrdiff_t>(snapshot.slab.first);
  snapshot.bodies.assign(first, first + static_cast<std::ptrdiff_t>(snapshot.slab.count));
  return snapshot;
}

std::filesystem::path choose_output(const RunSettings& settings) {
  if (!settings.output.empty()) {
    return settings.output;
  }
  const char* const run_folder = std::getenv("PLAIT_TRACE");
  return run_folder != nullptr && *run_folder != '\0' ? std::filesystem::path{run_folder} / "snapshots" : "ring-output";
}

/// Makes the folder and sees that it can be written to and holds no snapshots that this run would replace.
void prepare_output(const std::filesystem::path& folder, bool overwrites) {
  std::error_code trouble;
  std::filesystem::create_directories(folder, trouble);
  const std::filesystem::path probe = folder / ".plait-ring-probe";
  const bool is_writable = !trouble && static_cast<bool>(std::ofstream{probe} << "probe" << std::flush);
  std::filesystem::remove(probe, trouble);
  if (!is_writable) {
    throw Error{ErrorCode::io,
                fmt::format("cannot write into the folder {}: choose another with --output", folder.string())};
  }
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    if (!overwrites && entry.path().filename().string().starts_with("ring-") && entry.path().extension() == ".hdf5") {
      throw Error{
          ErrorCode::bad_argument,
          fmt::format("{} holds the snapshots of another run: choose another folder with --output, or --overwrite",
                      folder.string())};
    }
  }
}

/// One run of the program, after the command line has been read.
class Run {
 public:
  Run(plait::Runtime& runtime, const RunSettings& settings)
      : runtime_{runtime},
        settings_{settings},
        output_{choose_output(settings)},
        is_first_{runtime.self() == Rank{0}},
        energy_drift_{runtime.trace().name(plait::trace::Role::counter, "relative energy drift")},
        momentum_drift_{runtime.trace().name(plait::trace::Role::counter, "relative angular momentum drift")} {}

  void operator()();

 private:
  Simulation start();
  [[nodiscard]] std::uint64_t steps_wanted(const RunState& state) const;
  void write(Simulation& simulation);
  void diagnose(Simulation& simulation);
  void print_profile(Simulation& simulation);

  plait::Runtime& runtime_;
  const RunSettings& settings_;
  const std::filesystem::path output_;
  const bool is_first_;
  plait::trace::NameId energy_drift_;
  plait::trace::NameId momentum_drift_;
  RunState state_;
  std::uint64_t steps_ = 0;
  double angular_momentum_begin_ = 0;
};

std::uint64_t Run::steps_wanted(const RunState& state) const {
  if (settings_.steps) {
    return *settings_.steps;
  }
  // Without either, an orbit.
  const double until = settings_.until.value_or(state.time + 2 * M_PI);
  const double steps = std::ceil((until - state.time) / state.parameters.time_step - 1e-9);
  if (!(steps >= 0) || steps > 1e15) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("--until {} is not after the time {} of the snapshot", until, state.time)};
  }
  return static_cast<std::uint64_t>(steps);
}

Simulation Run::start() {
  Snapshot snapshot;
  DomainGrid grid;
  app::agree(runtime_, [&] {
    grid = make_grid(runtime_.rank_count(), settings_.radial_divisions, settings_.vertical_divisions);
    snapshot = read_input(settings_.input, runtime_.self(), runtime_.rank_count());
    snapshot.state.parameters = merge(snapshot.state.parameters, settings_);
    steps_ = steps_wanted(snapshot.state);
    if (is_first_) {
      prepare_output(output_, settings_.overwrites);
    }
  });
  state_ = snapshot.state;
  Simulation::Start start{.bodies = std::move(snapshot.bodies),
                          .step = state_.step,
                          .time = state_.time,
                          .dissipation = state_.dissipation,
                          .spring = state_.spring,
                          .has_forces = state_.step > 0};
  if (grid == state_.grid) {
    start.domain_bounds = state_.domain_bounds;
  }
  state_.grid = grid;
  return {runtime_,
          state_.parameters,
          {.grid = grid, .steps_between_decompositions = settings_.decompose_steps},
          std::move(start)};
}

void Run::write(Simulation& simulation) {
  state_.step = simulation.steps_done();
  state_.time = simulation.time();
  const auto bounds = simulation.domains().bounds();
  state_.domain_bounds.assign(bounds.begin(), bounds.end());
  const Diagnostics all = simulation.diagnose();
  state_.dissipation = {all.dissipated, simulation.dissipation_rate()};
  state_.spring = all.spring;
  plait::barrier(runtime_.messages());  // HDF5 talks over MPI itself: the network must be quiet
  const std::filesystem::path file = output_ / fmt::format("ring-{:08}.hdf5", state_.step);
  app::agree(runtime_, [&] { (void)write_snapshot(file, state_, simulation.bodies(), MPI_COMM_WORLD).value(); });
}

void Run::diagnose(Simulation& simulation) {
  const Diagnostics now = simulation.diagnose();
  if (state_.energy_begin == 0) {
    state_.energy_begin = now.total();
  }
  if (angular_momentum_begin_ == 0) {
    angular_momentum_begin_ = now.angular_momentum.z;
  }
  const double energy = (now.total() - state_.energy_begin) / std::abs(state_.energy_begin);
  const double momentum = (now.angular_momentum.z - angular_momentum_begin_) / std::abs(angular_momentum_begin_);
  if (!std::isfinite(energy) || !std::isfinite(momentum)) {
    throw Error{ErrorCode::bad_input,
                fmt::format("the energy is not finite any more at step {}: is the time step too long?",
                            simulation.steps_done())};
  }
  if (!is_first_) {
    return;
  }
  auto& trace = runtime_.trace().thread({}, "program");
  const auto step = static_cast<std::uint32_t>(simulation.steps_done());
  trace.counter({.name = energy_drift_, .time = runtime_.trace().now(), .value = energy, .step = step});
  trace.counter({.name = momentum_drift_, .time = runtime_.trace().now(), .value = momentum, .step = step});
  fmt::print("step {:>8}  time {:>10.5f}  energy {:+.10e} (drift {:+.2e})  angular momentum {:+.10e} (drift {:+.2e})\n",
             simulation.steps_done(),
             simulation.time(),
             now.total(),
             energy,
             now.angular_momentum.z,
             momentum);
  std::fflush(stdout);
}

void Run::print_profile(Simulation& simulation) {
  const Profile mine = simulation.take_profile();
  std::vector<Profile> profiles;
  for (const plait::Bytes& bytes : plait::gather(runtime_.messages(), Rank{0}, std::as_bytes(std::span{&mine, 1}))) {
    std::memcpy(&profiles.emplace_back(), bytes.data(), sizeof mine);
  }
  if (is_first_) {
    fmt::print("\n{}", profile_table(profiles, runtime_.worker_count()));
  }
}

void Run::operator()() {
  Simulation simulation = start();
  diagnose(simulation);
  write(simulation);
  app::ProgressBar bar{steps_, is_first_, "steps"};
  for (std::uint64_t done = 1; done <= steps_; ++done) {
    simulation.step();
    const bool is_last = done == steps_;
    if (is_last || (settings_.diagnose_steps > 0 && done % settings_.diagnose_steps == 0)) {
      bar.clear();
      diagnose(simulation);
    }
    if (is_last || (settings_.snapshot_steps > 0 && done % settings_.snapshot_steps == 0)) {
      write(simulation);
    }
    bar.update(done);
  }
  bar.clear();
  print_profile(simulation);
  if (is_first_) {
    fmt::print("snapshots are in {}\n", output_.string());
  }
}

}  // namespace

void run_ring(plait::Runtime& runtime, const RunSettings& settings) {
  Run{runtime, settings}();
}

}  // namespace ring
