// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/detail/motions.hpp"

#include <algorithm>
#include <cstddef>

namespace plait::particles::detail {
namespace {

Vector velocity_of(const NodeMotion& motion) {
  return {static_cast<double>(motion.x), static_cast<double>(motion.y), static_cast<double>(motion.z)};
}

/// The motion of parts with the given masses and motions.
template <class MassOf, class MotionOf>
NodeMotion mean_motion(std::size_t count, MassOf mass_of, MotionOf motion_of) {
  Vector weighted;
  Vector plain;
  double mass = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Vector velocity = velocity_of(motion_of(i));
    mass += mass_of(i);
    weighted += mass_of(i) * velocity;
    plain += velocity;
  }
  const Vector mean = mass != 0 ? (1 / mass) * weighted : (1 / static_cast<double>(count)) * plain;
  NodeMotion motion{static_cast<float>(mean.x), static_cast<float>(mean.y), static_cast<float>(mean.z)};
  for (std::size_t i = 0; i < count; ++i) {
    const NodeMotion part = motion_of(i);
    motion.spread = std::max(motion.spread, part.spread + static_cast<float>(length(velocity_of(part) - mean)));
  }
  return motion;
}

}  // namespace

void sum_motions(NodeTable& table, std::span<const Source> sources, std::span<const Vector> velocities) {
  const std::span<NodeMotion> motions = table.motions();
  for (std::size_t i = motions.size(); i-- > 0;) {  // children are after their parents
    const Node& node = table.nodes()[i];
    if (node.kind() == NodeKind::leaf) {
      motions[i] = mean_motion(
          node.count(),
          [&](std::size_t body) { return sources[node.first + body].mass; },
          [&](std::size_t body) {
            const Vector& v = velocities[node.first + body];
            return NodeMotion{static_cast<float>(v.x), static_cast<float>(v.y), static_cast<float>(v.z)};
          });
    } else {
      motions[i] = mean_motion(
          node.count(),
          [&](std::size_t child) { return table.extents()[node.first + child].mass; },
          [&](std::size_t child) { return motions[node.first + child]; });
    }
  }
}

}  // namespace plait::particles::detail
