// SPDX-License-Identifier: Apache-2.0
#include "dns/solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "dns/band_forcing.hpp"
#include "dns/measure.hpp"
#include "dns/random_mode.hpp"
#include "dns/stage.hpp"

namespace dns {

namespace {

using Clock = std::chrono::steady_clock;

/// One right-hand side of a step: what for, and on which of two grids.
struct Evaluation {
  Update update;
  int grid = 0;
  bool is_mean = false;
};

std::vector<Evaluation> evaluations_of(const Scheme& scheme) {
  const std::vector<Update> updates =
      scheme.integrator == Integrator::rk4
          ? std::vector{Update::rk4_first, Update::rk4_second, Update::rk4_third, Update::rk4_last}
          : std::vector{Update::rk2_first, Update::rk2_last};
  std::vector<Evaluation> evaluations;
  for (std::size_t stage = 0; stage < updates.size(); ++stage) {
    switch (scheme.dealiasing) {
      case Dealiasing::none:
      case Dealiasing::truncation:
        evaluations.push_back({updates[stage]});
        break;
      case Dealiasing::phase_shift:
        evaluations.push_back({Update::keep, 0});
        evaluations.push_back({updates[stage], 1, true});
        break;
      case Dealiasing::phase_shift_step:
      case Dealiasing::phase_shift_random:
        evaluations.push_back({updates[stage], static_cast<int>(stage % 2)});
        break;
    }
  }
  return evaluations;
}

void check(const plait::fft::Plan& plan, const Physics& physics) {
  const auto refuse = [](const std::string& sentence) { throw plait::Error{plait::ErrorCode::bad_argument, sentence}; };
  if (plan.kind() != plait::fft::Kind::real) {
    refuse("A flow needs a plan of real transforms.");
  }
  if (!(physics.viscosity >= 0) || !std::isfinite(physics.viscosity)) {
    refuse(fmt::format("The viscosity must be 0 or more, not {:g}.", physics.viscosity));
  }
  for (const ScalarPhysics& scalar : physics.scalars) {
    if (!(scalar.schmidt > 0)) {
      refuse(fmt::format("The Schmidt number of {} must be above 0, not {:g}.", scalar.name, scalar.schmidt));
    }
  }
}

}  // namespace

struct Solver::State {
  State(plait::Runtime& the_runtime, const plait::fft::Plan& the_plan, Physics the_physics, Scheme the_scheme)
      : plan{the_plan},
        physics{std::move(the_physics)},
        scheme{the_scheme},
        evaluations{evaluations_of(scheme)},
        modes{plan.physical().lengths, plan.spectral(), scheme.dealiasing},
        group{the_runtime.messages()},
        forcing{physics.forcing, modes, group},
        stage{the_runtime, plan, modes, physics, scheme} {}

  /// Of `grid` in the step with this number.
  [[nodiscard]] Shift shift(int grid, std::uint64_t step) const {
    std::array<double, 3> distance{};
    RandomOfMode random{scheme.seed, {}, step};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double part = scheme.dealiasing == Dealiasing::phase_shift_random ? random.unit() : 0;
      distance[axis] = (part + 0.5 * grid) / inverse_step[axis];
    }
    return {modes, distance};
  }

  /// Inputs of the transforms, from the state.
  void prepare(Shift on_grid) {
    if (has_new_fields) {
      stage.on_modes().run([this](const Box& part, std::size_t) { stage.work().cut_off(part); });
      has_new_fields = false;
    }
    stage.work().stage().next = std::move(on_grid);
    stage.prepare();
    is_prepared = false;
  }
  void prepare_for_step() {
    if (!is_prepared) {
      prepare(shift(evaluations[0].grid, steps));
      is_prepared = true;
    }
  }

  /// Bounds are about all ranks, or one that is no number on any.
  [[nodiscard]] double largest(double mine) {
    plait::all_reduce(group, std::span{&mine, 1}, plait::Maximum{}).wait();
    return mine;
  }
  [[nodiscard]] double total(double mine) {
    plait::all_reduce(group, std::span{&mine, 1}).wait();
    return mine;
  }

  [[nodiscard]] Speeds speeds_here() {
    std::vector<Speeds> parts(std::max<std::size_t>(1, stage.on_points().count()));
    stage.on_points().run([&](const Box& part, std::size_t p) {
      const auto place = static_cast<std::size_t>(plan.physical().offset(part.low[0], part.low[1], part.low[2]));
      const auto& u = stage.arrays().u;
      parts[p] = speeds({u[0].data() + place, u[1].data() + place, u[2].data() + place},
                        static_cast<std::size_t>(part.volume()),
                        inverse_step);
    });
    Speeds all;
    for (const Speeds& part : parts) {
      all.add(part);
    }
    return all;
  }

  void begin(double dt) {
    prepare_for_step();
    if (forcing.is_any()) {
      forcing.begin(stage.arrays().state);
    }
    if (decay_dt != dt) {
      stage.work().set_decay(scheme.integrator == Integrator::rk4 ? dt / 2 : dt);
      decay_dt = dt;
    }
  }

  void force(double dt) {
    power = forcing.apply(stage.arrays().state, dt, steps) / dt;
    StageWork& work = stage.work().stage();
    const Update last = std::exchange(work.update, Update::none);
    work.is_mean = false;
    for (const Box& box : forcing.boxes()) {
      stage.work().update_velocity(box);
    }
    work.update = last;
  }

  /// Takes what has divergence, and what is not kept; returns the part of the energy that goes with it.
  double project() {
    const double before = total(energy_of_all());
    prepare({});
    stage.on_modes().run([this](const Box& part, std::size_t) { stage.work().project(part); });
    const double after = total(energy_here(modes, stage.arrays().state));
    rate = -1;
    return before > 0 ? std::max(0.0, 1 - after / before) : 0;
  }

  [[nodiscard]] double energy_of_all() {
    const Box& box = modes.layout().box;
    const auto width = static_cast<std::size_t>(std::max<Index>(1, box.extent(2)));
    double sum = 0;
    for (const Array& u : stage.arrays().state.u) {
      for (std::size_t p = 0; p < u.size(); ++p) {
        const Index k2 = box.low[2] + static_cast<Index>(p % width);
        sum += (k2 == 0 || 2 * k2 == modes.lengths()[2] ? 0.5 : 1.0) * std::norm(u[p]);
      }
    }
    return sum;
  }

  void measure_transfer(Diagnostics& out);
  void measure_gradients(Diagnostics& out);

  const plait::fft::Plan& plan;
  const Physics physics;
  const Scheme scheme;
  const std::vector<Evaluation> evaluations;
  const Modes modes;
  plait::Group group;
  BandForcing forcing;
  Stage stage;
  const std::array<double, 3> inverse_step = modes.inverse_step();

  double time = 0;
  std::uint64_t steps = 0;
  bool has_new_fields = true;  ///< The caller may have written modes that are not kept.
  bool is_prepared = false;    ///< Inputs are those of the next step.
  double decay_dt = -1;
  double rate = -1;  ///< Not known when negative.
  double power = 0;
};

Solver::Solver(plait::Runtime& runtime, const plait::fft::Plan& plan, Physics physics, Scheme scheme) {
  check(plan, physics);
  state_ = std::make_unique<State>(runtime, plan, std::move(physics), scheme);
}

Solver::~Solver() = default;

Memory Solver::memory_needed(const std::array<plait::fft::Index, 3>& lengths,
                             const plait::fft::PlanOptions& options,
                             std::uint32_t ranks,
                             const Physics& physics,
                             const Scheme& scheme) {
  const FlowArrays::Counts counts = FlowArrays::counts(scheme, physics.scalars.size());
  // The last of equal parts is never smaller than another.
  const std::size_t execution = plait::fft::Plan::bytes_needed(lengths, options, ranks, plait::Rank{ranks - 1});
  const auto part = [](Index length, std::uint32_t parts) {
    return static_cast<std::size_t>(plait::fft::part_of(length, parts, parts - 1).count());
  };
  Memory most;
  for (std::uint32_t row = 1; row <= ranks; ++row) {
    const bool is_possible = ranks % row == 0 && (options.grid.row == 0 || options.grid.row == row);
    if (!is_possible) {
      continue;
    }
    const std::uint32_t column = ranks / row;
    const std::size_t points = part(lengths[0], column) * part(lengths[1], row) * part(lengths[2], 1);
    const std::size_t modes = part(lengths[0], 1) * part(lengths[1], column) * part(lengths[2] / 2 + 1, row);
    const Memory memory{.modes = counts.modes * modes * sizeof(Complex),
                        .points = counts.points * points * sizeof(double),
                        .transforms = Stage::execution_count(physics.scalars.size()) * execution};
    most = memory.total() > most.total() ? memory : most;
  }
  return most;
}

const plait::fft::Plan& Solver::plan() const noexcept {
  return state_->plan;
}
const Physics& Solver::physics() const noexcept {
  return state_->physics;
}
const Scheme& Solver::scheme() const noexcept {
  return state_->scheme;
}

const Fields& Solver::fields() const noexcept {
  return state_->stage.arrays().state;
}

Fields& Solver::fields() noexcept {
  state_->has_new_fields = true;
  state_->is_prepared = false;
  state_->rate = -1;
  state_->forcing.forget();
  return state_->stage.arrays().state;
}

double Solver::project() {
  return state_->project();
}

double Solver::time() const noexcept {
  return state_->time;
}
std::uint64_t Solver::step_count() const noexcept {
  return state_->steps;
}
void Solver::set_time(double time, std::uint64_t step_count) {
  state_->time = time;
  state_->steps = step_count;
  state_->is_prepared = false;  // the next step's grid may be another
}

std::vector<double> Solver::forcing_state() const {
  return state_->forcing.state();
}
void Solver::set_forcing_state(std::span<const double> state) {
  state_->forcing.set_state(state);
}

void Solver::step(double dt) {
  State& s = *state_;
  if (!(dt > 0) || !std::isfinite(dt)) {
    throw plait::Error{plait::ErrorCode::bad_argument, fmt::format("A time step must be above 0, not {:g}.", dt)};
  }
  const auto start = Clock::now();
  const double rate_before = s.rate;
  s.begin(dt);
  bool is_finite = true;
  Speeds last;
  for (std::size_t e = 0; e < s.evaluations.size(); ++e) {
    const Evaluation& evaluation = s.evaluations[e];
    const bool is_last = e + 1 == s.evaluations.size();
    StageWork& work = s.stage.work().stage();
    work.update = evaluation.update;
    work.dt = dt;
    work.is_mean = evaluation.is_mean;
    work.shift = s.shift(evaluation.grid, s.steps);
    work.next = is_last ? s.shift(s.evaluations[0].grid, s.steps + 1) : s.shift(s.evaluations[e + 1].grid, s.steps);
    last = s.stage.run();
    is_finite = is_finite && std::isfinite(last.rate);
  }
  s.time += dt;
  ++s.steps;
  if (s.forcing.is_any()) {
    s.force(dt);
  }
  s.rate = s.largest(is_finite ? last.rate : std::numeric_limits<double>::infinity());
  s.stage.times.total += Clock::now() - start;
  ++s.stage.times.steps;
  if (!std::isfinite(s.rate)) {
    std::string sentence =
        fmt::format("In step {} (time {:g}) a velocity became infinite or no number", s.steps, s.time);
    if (rate_before >= 0 && std::isfinite(rate_before)) {
      sentence +=
          fmt::format("; the Courant number was {:.3g}, where {:.3g} is the largest that is stable: take shorter steps",
                      rate_before * dt,
                      courant_limit(s.scheme));
    }
    throw plait::Error{plait::ErrorCode::bad_argument, sentence + "."};
  }
}

double Solver::courant_rate() {
  State& s = *state_;
  if (s.rate < 0) {
    s.prepare({});
    s.stage.to_points(true);
    s.rate = s.largest(s.speeds_here().rate);
  }
  return s.rate;
}

Diagnostics Solver::diagnose(Detail detail) {
  State& s = *state_;
  const StepTimes times = s.stage.times;
  if (s.has_new_fields) {
    s.prepare({});
  }
  Diagnostics out;
  out.time = s.time;
  out.step = s.steps;
  out.forcing_power = s.power;
  measure_modes(s.modes, s.stage.arrays().state, s.physics, s.group, out);
  if (detail == Detail::all) {
    s.measure_transfer(out);
    s.measure_gradients(out);
  }
  s.stage.times = times;
  return out;
}

void Solver::State::measure_transfer(Diagnostics& out) {
  const bool is_shifted = scheme.dealiasing != Dealiasing::none && scheme.dealiasing != Dealiasing::truncation;
  const int grids = is_shifted ? 2 : 1;
  out.transfer.assign(modes.shells(), 0);
  Speeds fastest;
  for (int grid = 0; grid < grids; ++grid) {
    std::array<double, 3> distance{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      distance[axis] = 0.5 * grid / inverse_step[axis];
    }
    const Shift shift{modes, distance};
    prepare(shift);
    stage.run_to_right_side();
    if (grid == 0) {
      fastest = speeds_here();
    }
    stage.work().stage().shift = shift;
    stage.on_modes().run([this](const Box& part, std::size_t) { stage.work().leave_right_side(part); });
    add_transfer(modes, stage.arrays().state, stage.arrays().transformed, 1.0 / grids, out.transfer);
  }
  plait::all_reduce(group, std::span{out.transfer}).wait();
  rate = largest(fastest.rate);
  out.courant_rate = rate;
  out.u_max = std::sqrt(largest(fastest.square_max));
}

void Solver::State::measure_gradients(Diagnostics& out) {
  is_prepared = false;
  stage.on_modes().run([this](const Box& part, std::size_t) { stage.work().leave_gradients(part); });
  stage.transformed_to_points();
  std::array<double, 6> sums{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::vector<double>& gradient = stage.arrays().omega[axis];
    const std::array<double, 2> mine = moments(gradient.data(), gradient.size());
    sums[2 * axis] = mine[0];
    sums[2 * axis + 1] = mine[1];
  }
  plait::all_reduce(group, std::span{sums}).wait();
  const auto points = static_cast<double>(plan.point_count());
  int axes = 0;
  double skewness = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (sums[2 * axis] > 0) {
      skewness += sums[2 * axis + 1] / points / std::pow(sums[2 * axis] / points, 1.5);
      ++axes;
    }
  }
  out.skewness = axes > 0 ? skewness / axes : 0;
}

void Solver::to_points() {
  state_->prepare({});
  state_->stage.to_points();
}
std::span<double> Solver::velocity(int axis) {
  return state_->stage.arrays().u[static_cast<std::size_t>(axis)];
}
std::span<double> Solver::vorticity(int axis) {
  return state_->stage.arrays().omega[static_cast<std::size_t>(axis)];
}
std::span<double> Solver::scalar(std::size_t number) {
  return state_->stage.arrays().flux_points[number][0];
}

double Solver::from_points() {
  state_->stage.from_points();
  static_cast<void>(fields());  // which are new
  return state_->project();
}

const StepTimes& Solver::times() const noexcept {
  return state_->stage.times;
}
void Solver::reset_times() noexcept {
  state_->stage.times = {};
}

}  // namespace dns
