// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plait/particles/trees/tree.hpp"

namespace plait::particles::detail {

/// Sets centre, mass and quadrupole of `node` and box and mass of `extent` from bodies. Expects: there are some.
void sum_bodies(std::span<const Source> sources, Node& node, NodeExtent& extent);

/// The same from child nodes. Expects: there are some.
void sum_children(std::span<const Node> children, std::span<const NodeExtent> extents, Node& node, NodeExtent& extent);

/// Sets how near a group may come before `node` is opened; its moments and box are known.
void set_opening(const TreeOptions& options, const Box& box, Node& node);

}  // namespace plait::particles::detail
