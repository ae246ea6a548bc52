// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "plait/particles/trees/node_table.hpp"
#include "plait/particles/trees/tree_options.hpp"

namespace plait::particles::detail {

/// The bodies of a tree in its order: what its nodes are summed from.
struct TreeBodies {
  const TreeOptions& options;
  const Particles& store;
  std::span<const Source> sources;
};

/// Computes all of a node but its content and its bodies' places: centre, mass, moments, opening distance and each
/// column of the table except motions. Expects: the node has bodies, and its children are summed.
void sum_node(const TreeBodies& bodies, NodeTable& table, std::uint32_t node);

/// Computes centre, mass, second moments, box and signs of a node from its children.
void sum_children(NodeTable& table, std::uint32_t node);

/// Computes radius and opening distance of a node, whose box, centre, signs and reach are set.
void set_opening(const TreeOptions& options, NodeTable& table, std::uint32_t node);

}  // namespace plait::particles::detail
