// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plait/particles/trees/tree.hpp"

namespace plait::particles::detail {

/// Computes centre, mass and quadrupole of `node`, and box and mass of `extent`, from bodies. Expects: at least one.
void sum_bodies(std::span<const Source> sources, Node& node, NodeExtent& extent);

/// The same from child nodes.
void sum_children(std::span<const Node> children, std::span<const NodeExtent> extents, Node& node, NodeExtent& extent);

/// Computes the boxes of `batch` and of its groups.
void set_boxes(std::span<const Source> sources, std::span<BodyGroup> groups, Batch& batch);

/// Computes the opening distance of `node`, whose moments and box are set.
void set_opening(const TreeOptions& options, const Box& box, Node& node);

}  // namespace plait::particles::detail
