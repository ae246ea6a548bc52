// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "ring/parallel/simulation.hpp"

namespace ring {

/// The table at the end of a run: for each phase, milliseconds of a step, mean and maximum over ranks, from the
/// profiles of all ranks. Times of several workers are divided by their number, so that rows add up to the step. Under
/// it, interactions a second.
[[nodiscard]] std::string profile_table(std::span<const Profile> profiles, std::uint32_t workers);

}  // namespace ring
