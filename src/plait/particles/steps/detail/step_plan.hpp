// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "plait/particles/interaction.hpp"
#include "plait/particles/steps/integrator.hpp"
#include "plait/particles/steps/stage.hpp"
#include "plait/particles/steps/time_steps.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles::detail {

/// The declared parts of a system whose particles are in cells.
struct StepPlan {
  TimeSteps steps;
  CellsOfSystem cells;
  Integrator integrator;
  std::vector<StepCriterion> criteria;
  std::vector<Stage> stages;
  std::vector<Interaction*> forces;  ///< Borrowed.
  /// A force with steps of its own, as long as the longest of particles; its interaction is borrowed, null: none.
  struct Slow {
    Interaction* sum = nullptr;
    std::vector<AnyField> forces;
    std::function<void(Particles& store, std::span<const Kick> kicks)> kick;
    std::function<void(Particles& store, std::span<const Kick> kicks)> predict;
  };
  Slow slow;
  /// Called for active particles [first, last) when their forces are summed.
  std::vector<std::function<void(Particles& store, std::size_t first, std::size_t last)>> after;
};

}  // namespace plait::particles::detail
