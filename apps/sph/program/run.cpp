// SPDX-License-Identifier: Apache-2.0
#include "sph/program/run.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/particles/hdf5/mpi/snapshot_together.hpp"

#include "sph/diagnostics.hpp"
#include "sph/parallel/simulation.hpp"
#include "sph/plain_model.hpp"
#include "sph/program/copies.hpp"
#include "sph/program/files.hpp"
#include "support/agree.hpp"
#include "support/choice.hpp"
#include "support/mpi/host_copies.hpp"
#include "support/output_folder.hpp"
#include "support/progress_bar.hpp"
#include "support/restart.hpp"

namespace sph {

namespace {

namespace hdf5 = plait::particles::hdf5;
using plait::Error;
using plait::ErrorCode;
using plait::Rank;
using plait::particles::SavedSteps;
using plait::particles::StepLengths;
using Clock = std::chrono::steady_clock;

/// Some files of other programs have no end time.
constexpr double no_end = 0;
/// Of statistics.txt, evenly in time.
constexpr double totals_lines = 100;

enum class Bound : bool { more_than, at_least };
/// Assigns `value`, if given, to `place`. Throws: `plait::Error` that names `option` if it is out of bounds.
template <class T>
void take(T& place, const std::optional<T>& value, const char* option, T low, Bound bound) {
  if (!value) {
    return;
  }
  if (!(bound == Bound::at_least ? *value >= low : *value > low) || !std::isfinite(*value)) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("{} {} is out of range: it must be {} {}",
                            option,
                            *value,
                            bound == Bound::at_least ? "at least" : "more than",
                            low)};
  }
  place = *value;
}

/// The scheme of the problem or file, with the options of the command line instead.
Scheme merge(Scheme scheme, const RunSettings& settings) {
  if (settings.scheme) {
    scheme.kind = app::find_named("--scheme", *settings.scheme, scheme_names).kind;
  }
  if (settings.kernel) {
    scheme.kernel = app::find_named("--kernel", *settings.kernel, kernel_traits).kind;
  }
  take(scheme.eta, settings.eta, "--eta", 0.8F, Bound::at_least);
  take(scheme.gamma, settings.gamma, "--gamma", 1.0F, Bound::more_than);
  take(scheme.courant, settings.courant, "--courant", 0.0F, Bound::more_than);
  take(scheme.viscosity, settings.viscosity, "--viscosity", 0.0F, Bound::at_least);
  take(scheme.smoothing_max, settings.smoothing_max, "--smoothing-max", 0.0F, Bound::more_than);
  take(scheme.energy_min, settings.energy_min, "--energy-min", 0.0F, Bound::at_least);
  take(scheme.gravity.constant, settings.gravity, "--gravity", 0.0, Bound::at_least);
  take(scheme.gravity.softening, settings.softening, "--softening", 0.0, Bound::at_least);
  take(scheme.gravity.accuracy, settings.accuracy, "--accuracy", 0.0, Bound::more_than);
  take(scheme.gravity.theta, settings.theta, "--theta", 0.0, Bound::at_least);
  return scheme;
}

/// What determines the result of a run.
app::Description description_of(const RunSettings& s) {
  app::Description description{{"file", s.input.string()},
                               {"problem", s.problem},
                               {"resolution", std::to_string(s.options.resolution)},
                               {"seed", std::to_string(s.options.seed)},
                               {"time steps", s.time_steps}};
  const auto add = [&](const char* name, const auto& value) {
    description[name] = value ? fmt::format("{}", *value) : "";
  };
  add("end", s.until);
  add("scheme", s.scheme);
  add("kernel", s.kernel);
  add("eta", s.eta);
  add("gamma", s.gamma);
  add("courant", s.courant);
  add("viscosity", s.viscosity);
  add("smoothing-max", s.smoothing_max);
  add("energy-min", s.energy_min);
  add("gravity", s.gravity);
  add("softening", s.softening);
  add("accuracy", s.accuracy);
  add("theta", s.theta);
  return description;
}

/// One run of the program.
class Run {
 public:
  Run(plait::Runtime& runtime, const RunSettings& settings)
      : runtime_{runtime},
        settings_{settings},
        output_{app::choose_output(settings.output, "snapshots", "sph-output")},
        is_first_{runtime.self() == Rank{0}} {}

  void operator()();

 private:
  void start();
  /// Goes on from the newest copy, if there is one.
  void restart();
  void prepare_steps();
  /// Whether the run has the steps of the file: these are parts of the time from begin to end, and have its physics.
  [[nodiscard]] bool goes_on(const SavedSteps& steps) const;
  /// The time from which parts of the run are counted.
  [[nodiscard]] double begin_of_steps() const { return state_.steps ? state_.steps->begin : state_.time; }
  void write();
  /// Copies the run to the memory of hosts.
  void copy();
  void open_log();
  [[nodiscard]] Totals totals();
  void log_totals();
  void judge_end();
  void write_profile(std::span<const ProfileRow> rows);

  plait::Runtime& runtime_;
  plait::Group group_{runtime_.messages()};
  const RunSettings& settings_;
  const std::filesystem::path output_;
  const bool is_first_;
  Particles store_;
  GasFields fields_{store_};
  plait::particles::StepFields step_fields_{store_};
  StateFields state_fields_{fields_, step_fields_};
  Problem problem_;
  RunState state_;
  double begin_ = 0;  ///< From which snapshots are counted.
  double until_ = 0;
  std::uint64_t total_ = 0;  ///< Particles.
  std::uint64_t updated_ = 0;
  std::uint32_t snapshots_ = 0;
  bool is_restarted_ = false;
  std::uint64_t first_step_ = 0;  ///< Before which a file was written, of a run that goes on from one.
  double seconds_ = 0;
  std::unique_ptr<plait::data::BuddyFiles> copies_;
  std::optional<app::CheckpointWriter> copy_writer_;
  std::unique_ptr<PlainModel> plain_;
  std::unique_ptr<Simulation> simulation_;
  std::function<StepReport(double goal)> advance_;
  plait::particles::StepRecord record_{runtime_.trace()};
  std::ofstream log_;
  std::ofstream totals_log_;
};

void Run::start() {
  app::agree(runtime_, [&] {
    const std::uint32_t rank = runtime_.self().value();
    const std::uint32_t ranks = runtime_.rank_count();
    if (settings_.copies.steps > 0 && settings_.time_steps == "plain") {
      throw Error{ErrorCode::bad_argument, "--copy-every: the reference model (--time-steps plain) keeps no copies"};
    }
    if (settings_.problem.empty() == settings_.input.empty()) {
      throw Error{ErrorCode::bad_argument, "what is to be run? Give either a file or --problem (see --help)"};
    }
    if (!settings_.problem.empty()) {
      problem_ = make_problem(settings_.problem, settings_.options);
      state_.options = settings_.options;
      add_particles(problem_, store_, fields_, rank, ranks);
    } else {
      Loaded loaded = load(settings_.input, store_, state_fields_, rank, ranks);
      problem_ = std::move(loaded.problem);
      state_ = loaded.state;
    }
    problem_.scheme = merge(problem_.scheme, settings_);
    until_ = settings_.until.value_or(problem_.time_end);
    if (state_.steps && !goes_on(*state_.steps)) {
      state_.steps.reset();
      forget_state(state_fields_);
    }
    if (!(until_ > state_.time)) {
      throw Error{ErrorCode::bad_argument,
                  until_ == no_end
                      ? std::string{"the file has no end time: give --until"}
                      : fmt::format("--until {} is not after the time {} of the particles", until_, state_.time)};
    }
    if (is_first_) {
      app::prepare_output({.path = output_,
                           .prefix = "sph-",
                           .suffix = ".hdf5",
                           .existing = settings_.overwrites || settings_.copies.restarts ? app::Existing::kept
                                                                                         : app::Existing::refused});
    }
  });
  first_step_ = state_.step;
  begin_ = begin_of_steps();
  if (settings_.copies.steps > 0) {
    restart();
  }
  total_ = store_.size();
  plait::all_reduce(group_, std::span{&total_, 1}).wait();
}

void Run::restart() {
  const app::Existing existing = settings_.copies.restarts ? app::Existing::kept
                                 : settings_.overwrites    ? app::Existing::removed
                                                           : app::Existing::refused;
  copies_ = app::open_host_copies(
      runtime_, settings_.copies.folder, existing, "--force, or go on from its copies with --restart");
  copy_writer_.emplace(*copies_, "plait-sph", is_first_);
  if (!settings_.copies.restarts) {
    return;
  }
  const std::optional<plait::data::NewestCheckpoint> newest = app::find_readable(*copies_, "plait-sph", is_first_);
  if (!newest) {
    return;
  }
  app::agree(runtime_, [&] {
    app::throw_unless_same(newest->checkpoint, description_of(settings_));
    const RunPlace place = go_on(newest->checkpoint, store_, state_fields_, runtime_.rank_count());
    state_ = place.state;
    begin_ = place.begin;
    snapshots_ = place.snapshots;
  });
  is_restarted_ = true;
  if (is_first_) {
    fmt::print("restarted from step {} of {}\n", state_.step, newest->file.string());
  }
}

bool Run::goes_on(const SavedSteps& steps) const {
  const RunSettings& s = settings_;
  const bool has_changes = s.scheme || s.kernel || s.eta || s.gamma || s.courant || s.viscosity || s.smoothing_max ||
                           s.energy_min || s.gravity || s.softening || s.accuracy || s.theta;
  return !has_changes && steps.end == until_ &&
         s.time_steps == (steps.lengths == StepLengths::equal ? "equal" : "individual");
}

void Run::prepare_steps() {
  if (settings_.time_steps == "plain") {
    app::agree(runtime_, [&] {
      if (runtime_.rank_count() > 1) {
        throw Error{ErrorCode::bad_argument, "--time-steps plain runs on one rank only"};
      }
      plain_ = std::make_unique<PlainModel>(store_, fields_, problem_);
    });
    advance_ = [this, begin = state_.time](double goal) {
      const double dt = plain_->step(goal - begin);
      return StepReport{.time = begin + plain_->time(), .step = dt, .updated = total_, .updated_here = total_};
    };
    return;
  }
  const double begin = begin_of_steps();
  const SimulationOptions options{.scheme = problem_.scheme,
                                  .space = problem_.space,
                                  .steps = settings_.time_steps == "equal" ? Steps::equal : Steps::individual,
                                  .begin = begin,
                                  .end = until_,
                                  .step_max = problem_.scheme.gravity.step_max,
                                  .step_min = settings_.step_min * (until_ - begin),
                                  .step_fields = step_fields_,
                                  .resumed = state_.steps};
  simulation_ = std::make_unique<Simulation>(runtime_.messages(), runtime_.scheduler(), store_, fields_, options);
  advance_ = [this](double) { return simulation_->step(); };
}

Totals Run::totals() {
  auto sums = std::bit_cast<std::array<double, sizeof(Totals) / sizeof(double)>>(totals_of(store_, fields_));
  plait::all_reduce(group_, std::span{sums}).wait();
  return std::bit_cast<Totals>(sums);
}

void Run::write() {
  hdf5::SnapshotLayout layout = layout_of(fields_, Naming::snapshot);
  RunState state = state_;
  state.steps.reset();
  if (simulation_ && settings_.snapshots.are_small) {
    simulation_->synchronise();
  } else if (simulation_) {
    state.steps = simulation_->save();
    number_places(state_fields_);
    add_state(state_fields_, layout);
  }
  plait::barrier(runtime_.messages());  // HDF5 talks over MPI itself: the network must be quiet
  const std::filesystem::path file = output_ / fmt::format("sph-{:04}.hdf5", snapshots_++);
  const hdf5::SnapshotHeader header = header_of(problem_, state);
  app::agree(runtime_, [&] { (void)hdf5::write_snapshot(file, header, layout, store_, MPI_COMM_WORLD).value(); });
}

void Run::copy() {
  RunPlace place{.state = state_, .begin = begin_, .snapshots = snapshots_};
  place.state.steps = simulation_->save();
  copy_writer_->write(checkpoint_of(store_, place, runtime_, description_of(settings_)));
}

void Run::open_log() {
  if (!is_first_) {
    return;
  }
  if (is_restarted_) {
    log_.open(output_ / "timesteps.txt", std::ios::app);
    totals_log_.open(output_ / "statistics.txt", std::ios::app);
    return;
  }
  log_.open(output_ / "timesteps.txt");
  log_ << fmt::format("# plait-sph on {} ranks of {} workers, {} particles{}{}\n",
                      runtime_.rank_count(),
                      runtime_.worker_count(),
                      total_,
                      problem_.name.empty() ? "" : ", problem ",
                      problem_.name)
       << "#   step           time           dt      updates wall-clock[ms]\n";
  totals_log_.open(output_ / "statistics.txt");
  totals_log_ << "#         time           mass        kinetic        thermal       potential          energy   "
                 "momentum x   momentum y   momentum z\n";
}

/// Writes a line of conserved quantities and energies.
void Run::log_totals() {
  if (simulation_) {
    simulation_->synchronise();
  }
  const Totals now = totals();
  if (is_first_) {
    const Vector& momentum = now.kept.momentum;
    totals_log_ << fmt::format(
        "{:>14.8e} {:>14.8e} {:>14.8e} {:>14.8e} {:>15.8e} {:>15.8e} {:>12.4e} {:>12.4e} {:>12.4e}\n",
        state_.time,
        now.kept.mass,
        now.kept.kinetic,
        now.thermal,
        now.kept.potential,
        now.energy(),
        momentum.x,
        momentum.y,
        momentum.z);
    totals_log_.flush();
  }
}

/// Writes a line for each place.
void Run::write_profile(std::span<const ProfileRow> rows) {
  std::ofstream file{output_ / "profile.csv"};
  file << fmt::format("# plait-sph, problem {}, {} particles, time {}\n", problem_.name, total_, state_.time)
       << "place,particles,density,density_scatter,speed,pressure,exact_density,exact_speed,exact_pressure\n";
  for (const ProfileRow& row : rows) {
    file << fmt::format("{:.6g},{},{:.6g},{:.6g},{:.6g},{:.6g}",
                        row.place,
                        row.particles,
                        row.mean.density,
                        row.density_scatter,
                        row.mean.speed,
                        row.mean.pressure);
    if (row.exact) {
      file << fmt::format(",{:.6g},{:.6g},{:.6g}\n", row.exact->density, row.exact->speed, row.exact->pressure);
    } else {
      file << ",,,\n";
    }
  }
}

void Run::judge_end() {
  const Totals now = totals();
  std::vector<double> profile = profile_sums(problem_, Gas{store_, fields_});
  plait::all_reduce(group_, std::span{profile}).wait();
  std::vector<double> all = answer_sums(problem_, Gas{store_, fields_}, state_.time);
  plait::all_reduce(group_, std::span{all}).wait();
  std::uint64_t checksum = checksum_of(store_, fields_);
  plait::all_reduce(group_, std::span{&checksum, 1}).wait();
  if (!is_first_) {
    return;
  }
  if (!profile.empty()) {
    write_profile(make_profile(problem_, profile, state_.time));
  }
  std::vector<Finding> findings = judge_totals(problem_, state_.begin, now);
  const std::vector<Finding> answer = judge(problem_, all, state_.time);
  findings.insert(findings.end(), answer.begin(), answer.end());
  fmt::print("time {:.6g}, {} steps\nerrors:\n", state_.time, state_.step);
  for (const Finding& finding : findings) {
    fmt::print("  {:<44} {:>9.3g}  {} {:.3g}\n",
               finding.what,
               finding.error,
               finding.is_met() ? "within" : "ABOVE ",
               finding.limit);
  }
  const double whole = static_cast<double>(total_) * static_cast<double>(state_.step);
  fmt::print(
      "{:.3g} particles updated in {:.3g} s: {:.3g} a second and core; {:.1f} % of what equal steps as short would "
      "have been\nsnapshots, timesteps.txt and statistics.txt are in {}\nchecksum {:016x}\n",
      static_cast<double>(updated_),
      seconds_,
      static_cast<double>(updated_) / seconds_ / (runtime_.rank_count() * runtime_.worker_count()),
      100 * static_cast<double>(updated_) / std::max(whole, 1.0),
      output_.string(),
      checksum);
}

void Run::operator()() {
  start();
  prepare_steps();
  if (state_.step == 0) {
    state_.begin = totals();
  }
  open_log();
  if (!is_restarted_) {
    log_totals();
    write();
  }
  app::ProgressBar bar{1000, is_first_, "thousandths"};
  const auto lines = [&] { return std::floor(totals_lines * (state_.time - begin_) / (until_ - begin_)); };
  double logged = lines();
  std::uint64_t steps_left = settings_.steps.value_or(std::numeric_limits<std::uint64_t>::max());
  steps_left -= is_restarted_ ? std::min(steps_left, state_.step - first_step_) : 0;
  const std::uint32_t parts = std::max(settings_.snapshots.count, 1U);
  for (std::uint32_t part = 1; part <= parts && steps_left > 0; ++part) {
    const double goal = part == parts ? until_ : begin_ + (until_ - begin_) * part / parts;
    if (goal <= state_.time) {
      continue;  // before this run
    }
    while (state_.time < goal && steps_left > 0) {
      const Clock::time_point before = Clock::now();
      const StepReport step = advance_(goal);
      const std::chrono::duration<double> took = Clock::now() - before;
      record_.note({.number = static_cast<std::uint32_t>(state_.step + 1),
                    .particles = store_.size(),
                    .updated = step.updated_here,
                    .took = std::chrono::duration_cast<std::chrono::nanoseconds>(took)},
                   {});
      seconds_ += took.count();
      state_.time = step.time;
      ++state_.step;
      --steps_left;
      updated_ += step.updated;
      if (is_first_) {
        log_ << fmt::format("{:>8} {:>14.8e} {:>12.6e} {:>12} {:>14.3f}\n",
                            state_.step,
                            step.time,
                            step.step,
                            step.updated,
                            1000 * took.count());
      }
      const double done = (state_.time - begin_) / (until_ - begin_);
      bar.update(static_cast<std::uint64_t>(1000 * done));
      if (lines() > logged) {
        logged = lines();
        log_totals();
      }
      if (copies_ && state_.step % settings_.copies.steps == 0 && state_.time < until_) {
        copy();
      }
    }
    bar.clear();
    write();
  }
  judge_end();
  if (copies_) {
    copy_writer_->report();
    copies_->remove();
  }
}

}  // namespace

void run_sph(plait::Runtime& runtime, const RunSettings& settings) {
  Run{runtime, settings}();
}

void write_initial_condition(const InitSettings& settings) {
  Particles store;
  const GasFields fields{store};
  const Problem problem = make_problem(settings.problem, settings.options);
  add_particles(problem, store, fields, 0, 1);
  hdf5::SnapshotHeader header = header_of(problem, {.begin = totals_of(store, fields), .options = settings.options});
  (void)hdf5::write_snapshot(settings.output, header, layout_of(fields, Naming::initial_condition), store).value();
}

}  // namespace sph
