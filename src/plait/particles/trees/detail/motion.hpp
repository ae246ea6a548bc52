// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "plait/particles/store/vector.hpp"
#include "plait/particles/trees/node.hpp"

namespace plait::particles::detail {

[[nodiscard]] inline Vector velocity_of(const NodeMotion& motion) {
  return {static_cast<double>(motion.x), static_cast<double>(motion.y), static_cast<double>(motion.z)};
}

/// The motion of parts with the given weights and motions.
template <class WeightOf, class MotionOf>
[[nodiscard]] NodeMotion mean_motion(std::size_t count, WeightOf weight_of, MotionOf motion_of) {
  Vector weighted;
  Vector plain;
  double weight = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Vector velocity = velocity_of(motion_of(i));
    weight += weight_of(i);
    weighted += weight_of(i) * velocity;
    plain += velocity;
  }
  const Vector mean = weight != 0 ? (1 / weight) * weighted : (1 / static_cast<double>(count)) * plain;
  NodeMotion motion{static_cast<float>(mean.x), static_cast<float>(mean.y), static_cast<float>(mean.z)};
  for (std::size_t i = 0; i < count; ++i) {
    const NodeMotion part = motion_of(i);
    motion.spread = std::max(motion.spread, part.spread + static_cast<float>(length(velocity_of(part) - mean)));
  }
  return motion;
}

}  // namespace plait::particles::detail
