// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plait/particles/trees/tree.hpp"

namespace plait::particles::detail {

/// Computes centre, mass and second moments of `node`, and box and charges of `extent`, from bodies. Expects: at
/// least one.
void sum_bodies(std::span<const Source> sources, Node& node, NodeExtent& extent);

/// The same from child nodes.
void sum_children(std::span<const Node> children, std::span<const NodeExtent> extents, Node& node, NodeExtent& extent);

/// Computes the boxes of `batch` and of its groups.
void set_boxes(std::span<const Source> sources, std::span<BodyGroup> groups, Batch& batch);

/// Computes radius and opening distance of `node`, whose moments and `extent` are set.
void set_opening(const TreeOptions& options, const NodeExtent& extent, Node& node);

}  // namespace plait::particles::detail
