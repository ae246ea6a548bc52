// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "plait/particles/store/box.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles {

/// The position of a particle on the Morton curve: 21 bits per axis, interleaved, x highest. The bit above marks
/// outliers (`KeySpace`).
using MortonKey = std::uint64_t;
inline constexpr int morton_levels = 21;
inline constexpr int far_bit = 3 * morton_levels;

/// The cube that keys subdivide. It shares its lower corner with the bounding box, so that the midplane of a thin disc
/// does not coincide with a plane of division.
struct KeyCube {
  Vector low;
  double cells_per_length = 0;

  /// An empty box makes a cube that maps all points to key 0. Expects: `box` is finite.
  explicit KeyCube(const Box& box);
  /// Clamps points outside to the border of the cube.
  [[nodiscard]] MortonKey key_of(const Vector& p) const;
};

/// Computes keys when a few particles may be outliers. Outliers use a cube of their own: in a common cube, all other
/// particles would share one cell.
class KeySpace {
 public:
  KeySpace() = default;
  /// `all` bounds `positions`. Detects outliers in a sample. Cost: O(1).
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

/// The largest absolute coordinate of a particle: products of squared distances must fit single precision.
inline constexpr double position_max = 1e15;

/// The tight box of all positions. Throws: `Error` that names a particle whose position is not finite or exceeds
/// `position_max`.
[[nodiscard]] Box bounding_box(const Particles& particles);

/// The number of levels on which all keys from `first` to `last` agree; -1 if only some of them are outliers.
/// Expects: `first <= last`.
[[nodiscard]] int common_levels(MortonKey first, MortonKey last);

}  // namespace plait::particles
