// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::python {

/// The rank that gave a particle, and the particle's place in its arrays, as an id.
struct InputPlace {
  std::uint32_t rank = 0;
  std::uint32_t place = 0;

  [[nodiscard]] static InputPlace of(std::uint64_t id) noexcept {
    return {static_cast<std::uint32_t>(id >> 32U), static_cast<std::uint32_t>(id)};
  }
  [[nodiscard]] std::uint64_t id() const noexcept { return std::uint64_t{rank} << 32U | place; }
};

/// Adds particles at `positions`, three numbers each, whose ids are their places in the input of `rank`. Throws:
/// `Error` with `bad_argument` when a position is not finite, or there are too many.
void add_particles(particles::Particles& store, std::span<const double> positions, Rank rank);

/// The number of each rank's first particle among those of all ranks, in the order of ranks. `count` are those of this
/// rank. Collective.
[[nodiscard]] std::vector<std::uint64_t> first_numbers(const comm::Group& group, std::uint64_t count);

}  // namespace plait::python
