// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/detail/equal_steps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/reduce.hpp"
#include "plait/particles/steps/detail/step_clock.hpp"

namespace plait::particles::detail {
namespace {

/// Particles that a loop over several functions keeps in the cache.
constexpr std::size_t chunk = 256;

/// Calls `use` with kicks of the particles [first, last), some at a time.
template <class Use>
void for_kicks(std::size_t first, std::size_t last, double duration, Use use) {
  std::array<Kick, chunk> kicks;
  while (first < last) {
    const std::size_t count = std::min(chunk, last - first);
    for (std::size_t k = 0; k < count; ++k) {
      kicks[k] = {static_cast<Particles::Index>(first + k), duration};
    }
    use(std::span<const Kick>{kicks.data(), count}, first);
    first += count;
  }
}

TimeSteps checked(const TimeSteps& steps) {
  if (steps.lengths == StepLengths::fixed && !std::isfinite(steps.step)) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("the time step is {}: give a finite one with System::take_steps", steps.step)};
  }
  return steps;
}

}  // namespace

EqualSteps::EqualSteps(comm::Endpoint& messages,
                       Integrator integrator,
                       const TimeSteps& steps,
                       std::vector<StepCriterion> criteria,
                       std::uint32_t workers)
    : integrator_{std::move(integrator)},
      steps_{checked(steps)},
      criteria_{std::move(criteria)},
      line_{steps.lengths == StepLengths::fixed ? task::TimeLine{0, 1} : task::TimeLine{steps.begin, steps.end}},
      all_{messages},
      noted_(workers, steps.step_max),
      length_{steps.step},
      time_{steps.begin} {}

void EqualSteps::resume(const SavedSteps& saved) {
  count_ = saved.count;
  if (!are_chosen()) {
    time_ = steps_.begin + static_cast<double>(count_) * steps_.step;
    return;
  }
  now_ = saved.now;
  time_ = line_.time_at(now_);
  bin_ = saved.next;
  length_ = bin_ ? line_.duration(task::ticks_of(bin_)) : 0;
}

void EqualSteps::save(SavedSteps& saved) const {
  saved.now = now_;
  saved.next = bin_;
}

double EqualSteps::kick_duration(double from, double to) const {
  if (!integrator_.kick_duration) {
    return (to - from) * length_;
  }
  const double begin = time_ + from * length_;
  const double end = time_ + to * length_;
  return checked_duration("kick_duration", integrator_.kick_duration(begin, end), begin, end);
}

double EqualSteps::drift_duration() const {
  if (!integrator_.drift_duration) {
    return length_;
  }
  const double end = time_ + length_;
  return checked_duration("drift_duration", integrator_.drift_duration(time_, end), time_, end);
}

void EqualSteps::begin(Particles& store, std::size_t first, std::size_t last) const {
  const double drift = drift_duration();
  const double whole_kick = integrator_.predict ? kick_duration(0, 1) : 0;
  for_kicks(first, last, kick_duration(0, 0.5), [&](std::span<const Kick> kicks, std::size_t at) {
    integrator_.kick(store, kicks);
    integrator_.drift(store, at, at + kicks.size(), drift);
    if (integrator_.predict) {
      integrator_.predict(store, at, at + kicks.size(), whole_kick);
    }
  });
}

void EqualSteps::end(Particles& store, std::size_t first, std::size_t last) const {
  for_kicks(first, last, kick_duration(0.5, 1), [&](std::span<const Kick> kicks, std::size_t) {
    integrator_.kick(store, kicks);
    if (integrator_.settle) {
      integrator_.settle(store, kicks);
    }
  });
}

void EqualSteps::limit(const Particles& store, std::size_t first, std::size_t last, std::uint32_t worker) {
  std::array<Particles::Index, chunk> places;
  std::array<double, chunk> longest;
  while (first < last) {
    const std::size_t count = std::min(chunk, last - first);
    for (std::size_t k = 0; k < count; ++k) {
      places[k] = static_cast<Particles::Index>(first + k);
      longest[k] = steps_.step_max;
    }
    for (const StepCriterion& criterion : criteria_) {
      criterion(store, std::span{places}.first(count), std::span{longest}.first(count));
    }
    for (std::size_t k = 0; k < count; ++k) {  // NaN counts as shortest
      const bool is_no_shorter = longest[k] >= noted_[worker] || std::isnan(noted_[worker]);
      noted_[worker] = is_no_shorter ? noted_[worker] : longest[k];
    }
    first += count;
  }
}

comm::Request EqualSteps::agree() {
  const auto shorter = [](double left, double right) { return right >= left || std::isnan(left) ? left : right; };
  agreed_ = steps_.step_max;
  for (double& noted : noted_) {
    agreed_ = shorter(agreed_, std::exchange(noted, steps_.step_max));
  }
  return comm::all_reduce(all_, std::span{&agreed_, 1}, shorter);
}

void EqualSteps::choose() {
  if (!are_chosen()) {
    return;
  }
  const double shortest = std::max(steps_.step_min, line_.duration(task::ticks_of(task::shortest_bin)));
  if (!(agreed_ >= shortest)) {
    throw Error{
        ErrorCode::bad_input,
        fmt::format("a particle needs a time step of {:.3g}, which is shorter than {:.3g}: check its forces, or "
                    "allow shorter steps",
                    agreed_,
                    shortest)};
  }
  bin_ = std::min(line_.bin_for(agreed_), task::longest_active(now_));
  length_ = line_.duration(task::ticks_of(bin_));
}

void EqualSteps::advance() {
  ++count_;
  if (!are_chosen()) {
    time_ = steps_.begin + static_cast<double>(count_) * steps_.step;
    return;
  }
  now_ += task::ticks_of(bin_);
  time_ = line_.time_at(now_);
  if (!is_over()) {  // else no step follows
    choose();
  }
}

}  // namespace plait::particles::detail
