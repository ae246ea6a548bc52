// SPDX-License-Identifier: Apache-2.0
#include "dns/solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "support/random_mode.hpp"

namespace dns {

namespace {

using Clock = std::chrono::steady_clock;

/// One right-hand side of a step: its use, and its grid of two.
struct Evaluation {
  Update update;
  int grid = 0;  ///< That of the first is 0.
  bool is_mean = false;
};

std::vector<Evaluation> evaluations_of(const Scheme& scheme) {
  const std::vector<Update> updates =
      scheme.integrator == Integrator::rk4
          ? std::vector{Update::rk4_first, Update::rk4_second, Update::rk4_third, Update::rk4_last}
          : std::vector{Update::rk2_first, Update::rk2_last};
  std::vector<Evaluation> evaluations;
  const bool alternates =
      scheme.dealiasing == Dealiasing::phase_shift_step || scheme.dealiasing == Dealiasing::phase_shift_random;
  for (std::size_t stage = 0; stage < updates.size(); ++stage) {
    if (scheme.dealiasing == Dealiasing::phase_shift) {
      evaluations.push_back({Update::keep, 0});
      evaluations.push_back({updates[stage], 1, true});
    } else {
      evaluations.push_back({updates[stage], alternates ? static_cast<int>(stage % 2) : 0});
    }
  }
  return evaluations;
}

/// `physics`, if it and the plan are valid.
Physics checked(const plait::fft::Plan& plan, Physics physics) {
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
  return physics;
}

/// The shift of one of two grids that are half a step apart, both shifted by `parts` of a step.
Shift shift_of(const Modes& modes, int grid, const std::array<double, 3>& parts = {}) {
  std::array<double, 3> distance = modes.inverse_step();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    distance[axis] = (parts[axis] + 0.5 * grid) / distance[axis];
  }
  return make_shift(modes, distance);
}

/// The largest value of all ranks; infinite if it is on any.
double largest(const plait::Group& group, double mine) {
  plait::all_reduce(group, std::span{&mine, 1}, plait::Maximum{}).wait();
  return mine;
}

/// The energy of all ranks, including modes that are not kept.
double total_energy(const plait::Group& group, const Modes& modes, const Fields& fields) {
  const Box& box = modes.layout().box;
  const auto width = static_cast<std::size_t>(std::max<Index>(1, box.extent(2)));
  double sum = 0;
  for (const Array& u : fields.u) {
    for (std::size_t p = 0; p < u.size(); ++p) {
      const Index k2 = box.low[2] + static_cast<Index>(p % width);
      sum += (k2 == 0 || 2 * k2 == modes.lengths()[2] ? 0.5 : 1.0) * std::norm(u[p]);
    }
  }
  plait::all_reduce(group, std::span{&sum, 1}).wait();
  return sum;
}

/// The mean skewness of d u_a / d x_a over the axes a. Overwrites `transformed` and the points of the vorticity.
double measure_skewness(Stage& stage, const plait::Group& group, double points) {
  stage.run_on_modes(&ModeWork::leave_gradients);
  stage.transformed_to_points();
  std::array<double, 6> sums{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::vector<double>& gradient = stage.arrays().omega[axis];
    const std::array<double, 2> mine = moments(gradient.data(), gradient.size());
    sums[2 * axis] = mine[0];
    sums[2 * axis + 1] = mine[1];
  }
  plait::all_reduce(group, std::span{sums}).wait();
  int axes = 0;
  double skewness = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (sums[2 * axis] > 0) {
      skewness += sums[2 * axis + 1] / points / std::pow(sums[2 * axis] / points, 1.5);
      ++axes;
    }
  }
  return axes > 0 ? skewness / axes : 0;
}

}  // namespace

Solver::Solver(plait::Runtime& runtime, const plait::fft::Plan& plan, Physics physics, const Scheme& scheme)
    : plan_{plan},
      physics_{checked(plan, std::move(physics))},
      scheme_{scheme},
      modes_{plan.physical().lengths, plan.spectral(), scheme.dealiasing},
      group_{runtime.messages()},
      forcing_{physics_.forcing, modes_, group_},
      stage_{runtime, plan, modes_, physics_, scheme_} {}

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

Fields& Solver::fields() noexcept {
  has_new_fields_ = true;
  is_prepared_ = false;
  rate_ = -1;
  forcing_.forget();
  return stage_.arrays().state;
}

double Solver::project() {
  const double before = total_energy(group_, modes_, stage_.arrays().state);
  prepare({});
  stage_.run_on_modes(&ModeWork::project);
  const double after = total_energy(group_, modes_, stage_.arrays().state);
  rate_ = -1;
  return before > 0 ? std::max(0.0, 1 - after / before) : 0;
}

void Solver::set_time(double time, std::uint64_t step_count) noexcept {
  time_ = time;
  steps_ = step_count;
  is_prepared_ = false;  // the next step's grid may be another
}

/// Of `grid` in the step with this number.
Shift Solver::shift(int grid, std::uint64_t step) const {
  std::array<double, 3> parts{};
  if (scheme_.dealiasing == Dealiasing::phase_shift_random) {
    app::RandomOfMode random{scheme_.seed, {}, step};
    std::ranges::generate(parts, [&] { return random.unit(); });
  }
  return shift_of(modes_, grid, parts);
}

/// Computes the inputs of the transforms from the state.
void Solver::prepare(Shift on_grid) {
  if (has_new_fields_) {
    stage_.run_on_modes(&ModeWork::cut_off);
    has_new_fields_ = false;
  }
  stage_.prepare(std::move(on_grid));
  is_prepared_ = false;
}

void Solver::step(double dt) {
  if (!(dt > 0) || !std::isfinite(dt)) {
    throw plait::Error{plait::ErrorCode::bad_argument, fmt::format("A time step must be above 0, not {:g}.", dt)};
  }
  const auto start = Clock::now();
  const double rate_before = rate_;
  if (!is_prepared_) {
    prepare(shift(0, steps_));
    is_prepared_ = true;
  }
  forcing_.begin(stage_.arrays().state);
  if (decay_dt_ != dt) {
    stage_.work().set_decay(scheme_.integrator == Integrator::rk4 ? dt / 2 : dt);
    decay_dt_ = dt;
  }
  bool is_finite = true;
  Speeds last;
  const std::vector<Evaluation> evaluations = evaluations_of(scheme_);
  StageWork& work = stage_.work().stage();
  for (std::size_t e = 0; e < evaluations.size(); ++e) {
    const Evaluation& evaluation = evaluations[e];
    const bool is_last = e + 1 == evaluations.size();
    work = {evaluation.update,
            dt,
            evaluation.is_mean,
            shift(evaluation.grid, steps_),
            is_last ? shift(0, steps_ + 1) : shift(evaluations[e + 1].grid, steps_)};
    last = stage_.run();
    is_finite = is_finite && std::isfinite(last.rate);
  }
  time_ += dt;
  ++steps_;
  if (forcing_.is_any()) {
    power_ = forcing_.apply(stage_.arrays().state, dt, steps_) / dt;
    work.update = Update::none;
    work.is_mean = false;
    for (const Box& box : forcing_.boxes()) {
      stage_.work().update_velocity(box);
    }
  }
  rate_ = largest(group_, is_finite ? last.rate : std::numeric_limits<double>::infinity());
  stage_.times.total += Clock::now() - start;
  ++stage_.times.steps;
  if (!std::isfinite(rate_)) {
    std::string sentence = fmt::format("In step {} (time {:g}) a velocity became infinite or no number", steps_, time_);
    if (rate_before >= 0 && std::isfinite(rate_before)) {
      sentence +=
          fmt::format("; the Courant number was {:.3g}, where {:.3g} is the largest that is stable: take shorter steps",
                      rate_before * dt,
                      courant_limit(scheme_));
    }
    throw plait::Error{plait::ErrorCode::bad_argument, sentence + "."};
  }
}

double Solver::courant_rate() {
  if (rate_ < 0) {
    prepare({});
    stage_.velocity_to_points();
    rate_ = largest(group_, stage_.measure_speeds().rate);
  }
  return rate_;
}

Diagnostics Solver::diagnose() {
  const StepTimes times = stage_.times;
  if (has_new_fields_) {
    prepare({});
  }
  Diagnostics out;
  out.time = time_;
  out.step = steps_;
  out.forcing_power = power_;
  measure_modes(modes_, stage_.arrays().state, physics_, group_, out);
  measure_transfer(out);
  out.skewness = measure_skewness(stage_, group_, static_cast<double>(plan_.point_count()));
  stage_.times = times;
  return out;
}

void Solver::measure_transfer(Diagnostics& out) {
  const bool is_shifted = scheme_.dealiasing != Dealiasing::none && scheme_.dealiasing != Dealiasing::truncation;
  const int grids = is_shifted ? 2 : 1;
  out.transfer.assign(modes_.shells(), 0);
  Speeds fastest;
  for (int grid = 0; grid < grids; ++grid) {
    const Shift shift = shift_of(modes_, grid);
    prepare(shift);
    stage_.run_to_right_side();
    if (grid == 0) {
      fastest = stage_.measure_speeds();
    }
    stage_.work().stage().shift = shift;
    stage_.run_on_modes(&ModeWork::leave_right_side);
    add_transfer(modes_, stage_.arrays().state, stage_.arrays().transformed, 1.0 / grids, out.transfer);
  }
  plait::all_reduce(group_, std::span{out.transfer}).wait();
  rate_ = largest(group_, fastest.rate);
  out.courant_rate = rate_;
  out.u_max = std::sqrt(largest(group_, fastest.square_max));
}

void Solver::to_points() {
  prepare({});
  stage_.to_points();
}

}  // namespace dns
