// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/detail/slow_steps.hpp"

#include <algorithm>

namespace plait::particles::detail {

SlowSteps::SlowSteps(const StepPlan& plan, const StepClock& clock)
    : plan_{plan},
      clock_{clock},
      bin_{clock.line().bin_for(std::min(plan.steps.step_max, clock.line().duration(task::line_ticks)))} {}

/// Kicks are of all particles, as steps that sum the slow force end those of all.
void SlowSteps::begin(Particles& store, std::size_t first, std::size_t last, task::Ticks now, Memory& memory) const {
  if (are_any() && task::is_active(bin_, now)) {
    list(first, last, memory.durations.kick(clock_, now, now + task::ticks_of(bin_) / 2), memory);
    plan_.slow.kick(store, memory.kicks);
  }
}

void SlowSteps::end(Particles& store, std::size_t first, std::size_t last, task::Ticks now, Memory& memory) const {
  if (are_any() && now > 0 && task::is_active(bin_, now)) {
    list(first, last, memory.durations.kick(clock_, now - task::ticks_of(bin_) / 2, now), memory);
    plan_.slow.kick(store, memory.kicks);
  }
}

void SlowSteps::predict(Particles& store, std::size_t first, std::size_t last, double duration, Memory& memory) const {
  if (plan_.slow.predict) {
    list(first, last, duration, memory);
    plan_.slow.predict(store, memory.kicks);
  }
}

void SlowSteps::settle(Particles& store, std::span<const Kick> kicked, task::Ticks now, Memory& memory) const {
  if (!plan_.slow.predict || task::is_active(bin_, now)) {
    return;
  }
  const task::Ticks middle = task::next_active(bin_, now) - task::ticks_of(bin_) / 2;
  const double since =
      now < middle ? -memory.durations.kick(clock_, now, middle) : memory.durations.kick(clock_, middle, now);
  memory.kicks.assign(kicked.begin(), kicked.end());
  for (Kick& kick : memory.kicks) {
    kick.duration = since;
  }
  plan_.slow.predict(store, memory.kicks);
}

void SlowSteps::list(std::size_t first, std::size_t last, double duration, Memory& memory) {
  memory.kicks.clear();
  for (std::size_t i = first; i < last; ++i) {
    memory.kicks.push_back({static_cast<Particles::Index>(i), duration});
  }
}

}  // namespace plait::particles::detail
