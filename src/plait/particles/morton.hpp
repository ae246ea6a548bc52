// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "plait/particles/box.hpp"
#include "plait/particles/particles.hpp"

namespace plait::particles {

/// The place of a particle on the space-filling curve: 21 bits an axis, interleaved, x highest.
using MortonKey = std::uint64_t;
inline constexpr int morton_levels = 21;

/// The cube that keys divide. It hangs at the lower corner of the particles' box, so that the middle plane of a
/// thin ring is no plane of division.
struct KeyCube {
  Vector low;
  double cells_per_length = 0;

  /// Expects: `box` is finite; an empty box gives a cube that maps everything to key 0.
  explicit KeyCube(const Box& box);
  /// Points outside the cube get the key of a cell at its border.
  [[nodiscard]] MortonKey key_of(const Vector& p) const;
};

/// The tight box of all positions. Throws: `Error` when a position is not finite.
[[nodiscard]] Box bounding_box(const Particles& particles);

/// The bits that all keys from `first` to `last` share with both, in levels; both sorted.
[[nodiscard]] int common_levels(MortonKey first, MortonKey last);

}  // namespace plait::particles
