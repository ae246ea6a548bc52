// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "plait/particles/store/box.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles {

/// The place of a particle on the space-filling curve: 21 bits an axis, interleaved, x highest. The bit above marks the
/// particles far from all others (`KeySpace`).
using MortonKey = std::uint64_t;
inline constexpr int morton_levels = 21;
inline constexpr int far_bit = 3 * morton_levels;

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

/// Computes keys of particles of which a few may be far from all others: with one cube for all, the others would share
/// a cell.
class KeySpace {
 public:
  KeySpace() = default;
  /// `all` is the box of all `positions`. Cost: O(1), by a sample.
  KeySpace(const Box& all, std::span<const Vector> positions);

  [[nodiscard]] MortonKey key_of(const Vector& p) const {
    return !has_far_ || crowd_box_.contains(p) ? crowd_.key_of(p) : MortonKey{1} << far_bit | far_.key_of(p);
  }

 private:
  KeyCube crowd_{Box{}};
  KeyCube far_{Box{}};
  Box crowd_box_;
  bool has_far_ = false;
};

/// How far from the origin a particle may be along an axis: squares and their products must fit single precision.
inline constexpr double position_max = 1e15;

/// The tight box of all positions. Throws: `Error` that names a particle whose position is not finite, or beyond
/// `position_max`.
[[nodiscard]] Box bounding_box(const Particles& particles);

/// The bits that all keys from `first` to `last` share with both, in levels; both sorted. -1: some are far from others.
[[nodiscard]] int common_levels(MortonKey first, MortonKey last);

}  // namespace plait::particles
