// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plait/particles/trees/node_table.hpp"

namespace plait::particles::detail {

/// Computes the motions of all nodes from the velocities of their bodies. Cost: O(n).
void sum_motions(NodeTable& table, std::span<const Source> sources, std::span<const Vector> velocities);

}  // namespace plait::particles::detail
