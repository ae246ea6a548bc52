// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/detail/slow_steps.hpp"

#include <algorithm>

namespace plait::particles::detail {

SlowSteps::SlowSteps(const StepPlan& plan, const StepClock& clock)
    : plan_{plan},
      clock_{clock},
      bin_{clock.line().bin_for(std::min(plan.steps.step_max, clock.line().duration(task::line_ticks)))} {}

void SlowSteps::begin(Particles& store, std::size_t first, std::size_t last, task::Ticks now, Memory& memory) const {
  if (plan_.slow != nullptr && task::is_active(bin_, now)) {
    const double half = memory.durations.duration(clock_, now, now + task::ticks_of(bin_) / 2);
    kick(store, first, last, half, memory);
  }
}

void SlowSteps::end(Particles& store, std::size_t first, std::size_t last, task::Ticks now, Memory& memory) const {
  if (plan_.slow != nullptr && now > 0 && task::is_active(bin_, now)) {
    const double half = memory.durations.duration(clock_, now - task::ticks_of(bin_) / 2, now);
    kick(store, first, last, half, memory);
  }
}

/// All particles, as steps that sum the slow force end those of all.
void SlowSteps::kick(Particles& store, std::size_t first, std::size_t last, double duration, Memory& memory) const {
  memory.kicks.clear();
  for (std::size_t i = first; i < last; ++i) {
    memory.kicks.push_back({static_cast<Particles::Index>(i), duration});
  }
  plan_.slow_kick(store, memory.kicks);
}

}  // namespace plait::particles::detail
