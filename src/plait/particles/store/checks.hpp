// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "plait/particles/store/particles.hpp"

namespace plait::particles {

// Checks of initial conditions. They throw `Error` with `bad_input`, which names the particles and `source`, the origin
// of the data.

/// Throws if two ids are equal. Cost: a sort.
void refuse_equal_ids(std::span<const std::uint64_t> ids, const std::string& source);

/// Throws if two particles have bitwise equal positions, where pair forces are undefined. Checks this rank's particles
/// only: call it after domain decomposition. Cost: a sort.
void refuse_equal_places(const Particles& particles, const std::string& source);

[[noreturn]] void refuse_position(const Vector& position, std::uint64_t id);

/// Throws if the position is not finite.
inline void check_position(const Vector& position, std::uint64_t id) {
  if (!is_finite(position)) {
    refuse_position(position, id);
  }
}

}  // namespace plait::particles
