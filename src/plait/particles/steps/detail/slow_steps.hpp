// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plait/particles/steps/detail/step_clock.hpp"
#include "plait/particles/steps/detail/step_plan.hpp"
#include "plait/particles/steps/integrator.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/task/time_line.hpp"

namespace plait::particles::detail {

/// The steps of a plan's slow force, which are as long as the longest of particles. Threads: concurrent for different
/// particles, each with its own memory.
class SlowSteps {
 public:
  /// The memory of a worker, for reuse.
  struct Memory {
    DurationMemory durations;
    std::vector<Kick> kicks;
  };

  /// Borrows both.
  SlowSteps(const StepPlan& plan, const StepClock& clock);

  [[nodiscard]] bool are_any() const noexcept { return plan_.slow.sum != nullptr; }
  /// Their bin, the longest of particles.
  [[nodiscard]] task::TimeBin bin() const noexcept { return bin_; }
  /// The same for `SavedSteps`: invalid without a slow force.
  [[nodiscard]] task::TimeBin saved() const noexcept { return are_any() ? bin_ : task::TimeBin{}; }
  /// Kicks the particles [first, last) by the half of the step that begins now, if one does.
  void begin(Particles& store, std::size_t first, std::size_t last, task::Ticks now, Memory& memory) const;
  /// The same by the half of the step that ends now.
  void end(Particles& store, std::size_t first, std::size_t last, task::Ticks now, Memory& memory) const;
  /// Predicts the effect of the force on the particles [first, last) over a duration of kicks.
  void predict(Particles& store, std::size_t first, std::size_t last, double duration, Memory& memory) const;
  /// Corrects predictions that were just set to the results of kicks: these have the half of the present step, until
  /// its middle.
  void settle(Particles& store, std::span<const Kick> kicked, task::Ticks now, Memory& memory) const;

 private:
  /// Prepares equal kicks of the particles [first, last).
  static void list(std::size_t first, std::size_t last, double duration, Memory& memory);

  const StepPlan& plan_;
  const StepClock& clock_;
  const task::TimeBin bin_;
};

}  // namespace plait::particles::detail
