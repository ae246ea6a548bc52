// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/detail/motions.hpp"

#include <cmath>
#include <cstddef>

#include "plait/particles/trees/detail/motion.hpp"

namespace plait::particles::detail {

void sum_motions(NodeTable& table, std::span<const Source> sources, std::span<const Vector> velocities) {
  const std::span<NodeMotion> motions = table.motions();
  for (std::size_t i = motions.size(); i-- > 0;) {  // children are after their parents
    const Node& node = table.nodes()[i];
    if (node.kind() == NodeKind::leaf) {
      motions[i] = mean_motion(
          node.count(),
          [&](std::size_t body) { return std::abs(sources[node.first + body].mass); },
          [&](std::size_t body) {
            const Vector& v = velocities[node.first + body];
            return NodeMotion{static_cast<float>(v.x), static_cast<float>(v.y), static_cast<float>(v.z)};
          });
    } else {
      motions[i] = mean_motion(
          node.count(),
          [&](std::size_t child) {
            const std::size_t at = node.first + child;
            return table.signs().empty() ? table.extents()[at].mass : table.signs()[at].weight;
          },
          [&](std::size_t child) { return motions[node.first + child]; });
    }
  }
}

}  // namespace plait::particles::detail
