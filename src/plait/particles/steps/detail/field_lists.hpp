// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plait/particles/steps/detail/step_plan.hpp"
#include "plait/particles/steps/time_steps.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles::detail {

// What ranks send each other of the particles near to their boundaries, as it follows from what stages read and write.

[[nodiscard]] bool has_field(std::span<const AnyField> fields, const AnyField& field);

/// All that stages read of copies, when they are made.
[[nodiscard]] std::vector<AnyField> fields_of_ghosts(const StepPlan& plan,
                                                     const StepFields& fields,
                                                     const AnyField& reach);
/// What may have changed since: by drifts, and by stages of earlier steps. Empty if no stage reads neighbours.
[[nodiscard]] std::vector<AnyField> fields_after_drift(const StepPlan& plan,
                                                       const StepFields& fields,
                                                       const AnyField& reach);
/// What the stage writes and a later one reads.
[[nodiscard]] std::vector<AnyField> fields_after_stage(const StepPlan& plan, std::size_t stage);

}  // namespace plait::particles::detail
