// SPDX-License-Identifier: Apache-2.0
#include "dns/program/time_steps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace dns {
namespace {

constexpr std::uint64_t default_steps = 100;
/// For a flow at rest, without options.
constexpr double step_at_rest = 0.01;
/// Fractions of the stability limit: of a shortened step, and by default.
constexpr double share_when_adapted = 0.9;
constexpr double share_by_default = 0.5;
/// The last step may be longer by this fraction, as sums of steps are rounded.
constexpr double rounding = 1e-9;

}  // namespace

TimeSteps::TimeSteps(const RunSettings& settings)
    : steps_{settings.steps > 0 || settings.time_end > 0 ? settings.steps : default_steps},
      time_end_{settings.time_end},
      fixed_{settings.is_adaptive() ? 0 : settings.time_step},
      longest_{settings.time_step > 0 ? settings.time_step : std::numeric_limits<double>::infinity()},
      courant_{settings.courant},
      limit_{courant_limit(settings.numerics())},
      on_courant_{settings.courant_policy()} {
  if (courant_ == 0) {
    courant_ = share_by_default * limit_;
  }
}

TimeSteps::Choice TimeSteps::next(std::uint64_t step, double time, double rate) {
  if (!std::isfinite(rate)) {
    throw plait::Error{plait::ErrorCode::bad_argument,
                       fmt::format("velocities are no finite numbers after step {}, at time {:.6g}: the run has blown "
                                   "up; choose a shorter --time-step, a smaller --cfl or more --viscosity",
                                   step,
                                   time)};
  }
  Choice choice;
  choice.dt = fixed_ > 0 ? fixed_ : rate > 0 ? std::min(longest_, courant_ / rate) : std::min(longest_, step_at_rest);
  if (fixed_ > 0 && fixed_ * rate > limit_) {
    const std::string what = fmt::format(
        "step {} at time {:.6g}: a time step of {:.4g} has the Courant number {:.3g}, above {:.3g}, where the "
        "scheme becomes unstable",
        step + 1,
        time,
        fixed_,
        fixed_ * rate,
        limit_);
    if (on_courant_ == OnCourant::stop) {
      throw plait::Error{plait::ErrorCode::bad_argument,
                         fmt::format("{}: choose --time-step {:.2g} or less, or --cfl {:.2g}, or --on-cfl adapt",
                                     what,
                                     share_when_adapted * limit_ / rate,
                                     share_by_default * limit_)};
    }
    if (on_courant_ == OnCourant::adapt) {
      choice.dt = share_when_adapted * limit_ / rate;
    }
    if (violations_++ == 0) {
      choice.warning = what + (on_courant_ == OnCourant::adapt ? fmt::format("; {:.4g} is taken, and so on", choice.dt)
                                                               : "; it goes on");
    }
  }
  if (time_end_ > 0 && time_end_ - time < choice.dt * (1 + rounding)) {
    choice.dt = time_end_ - time;
  }
  choice.courant = choice.dt * rate;
  return choice;
}

bool TimeSteps::is_over(std::uint64_t step, double time) const {
  return (steps_ > 0 && step >= steps_) || (time_end_ > 0 && time >= time_end_ * (1 - 1e-14));
}

double TimeSteps::done(std::uint64_t step, double time) const {
  const double of_steps = steps_ > 0 ? static_cast<double>(step) / static_cast<double>(steps_) : 0;
  return std::max(of_steps, time_end_ > 0 ? time / time_end_ : 0);
}

std::string TimeSteps::describe() const {
  if (fixed_ > 0) {
    return fmt::format("time step {:.6g}, stable up to a Courant number of {:.3g}", fixed_, limit_);
  }
  return fmt::format("time step by a Courant number of {:.3g} (stable up to {:.3g})", courant_, limit_);
}

}  // namespace dns
