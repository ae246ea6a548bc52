// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "ring/body.hpp"
#include "ring/box.hpp"

namespace ring {

/// The place of a body on the space-filling curve: 21 bits an axis, interleaved, x highest.
using MortonKey = std::uint64_t;
inline constexpr int morton_levels = 21;

/// The cube that keys divide. It hangs at the lower corner of the bodies' box, so that the middle plane of a
/// thin ring is no plane of division.
struct KeyCube {
  Vector low;
  double cells_per_length = 0;

  /// Expects: `box` is finite; an empty box gives a cube that maps everything to key 0.
  explicit KeyCube(const Box& box);
  /// Points outside the cube get the key of a cell at its border.
  [[nodiscard]] MortonKey key_of(const Vector& p) const;
};

/// The tight box of the bodies' positions. Throws: `plait::Error` when a position is not finite.
[[nodiscard]] Box bounding_box(std::span<const Body> bodies);

/// The bits that all keys from `first` to `last` share with both, in levels; both sorted.
[[nodiscard]] int common_levels(MortonKey first, MortonKey last);

}  // namespace ring
