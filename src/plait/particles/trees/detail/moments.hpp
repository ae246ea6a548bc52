// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plait/particles/trees/tree.hpp"

namespace plait::particles::detail {

/// Computes centre, mass and second moments of `node`, and box, charges and dipole of `extent`, from bodies. Expects:
/// at least one.
void sum_bodies(std::span<const Source> sources, Node& node, NodeExtent& extent);

/// The same from child nodes.
void sum_children(std::span<const Node> children, std::span<const NodeExtent> extents, Node& node, NodeExtent& extent);

/// The nodes of a tree or a subtree.
struct NodesOf {
  std::span<const Node> nodes;
  std::span<const NodeExtent> extents;
};

/// Computes the entry of node `i` in `moments` (`TreeView::moments`), from the bodies of a leaf or the entries of
/// children. Does nothing if nodes have none. `store` is in the order of the tree.
void sum_moment(const TreeOptions& options,
                const Particles& store,
                const NodesOf& part,
                std::size_t i,
                std::span<std::byte> moments);

/// Computes radius and opening distance of `node`, whose moments and extent are set.
void set_opening(const TreeOptions& options, const NodeExtent& extent, Node& node);

}  // namespace plait::particles::detail
