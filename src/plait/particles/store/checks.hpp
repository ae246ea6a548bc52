// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "plait/particles/store/particles.hpp"

namespace plait::particles {

// What is wrong with particles as the beginning of a run. Throw: `Error` with `bad_input` that names `source`, which is
// where they came from, and the ids concerned. Cost: a sort.

[[noreturn]] void refuse_position(const Vector& position, std::uint64_t id);
/// Whether two have one id.
void refuse_equal_ids(std::span<const std::uint64_t> ids, const std::string& source);

/// Whether two are at one place, to the last bit: forces between them mean nothing. Those of several ranks are compared
/// when each place belongs to one rank.
void refuse_equal_places(const Particles& particles, const std::string& source);

/// Throws: `Error` with `bad_input` that names the particle, when its position is not finite.
inline void check_position(const Vector& position, std::uint64_t id) {
  if (!is_finite(position)) {
    refuse_position(position, id);
  }
}

}  // namespace plait::particles
