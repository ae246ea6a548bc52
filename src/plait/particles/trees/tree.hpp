// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/particles/store/box.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/trees/node.hpp"
#include "plait/particles/trees/node_table.hpp"
#include "plait/particles/trees/tree_options.hpp"

namespace plait::particles {

/// A tree over the bodies of one rank: its nodes with their moments, the bodies as sources, and the groups and batches
/// that walk together. `TreeBuild` builds one along the curve, `TreeOverCells` one over given cells; both keep its
/// memory.
class Tree {
 public:
  /// Recomputes moments from the present positions and charges; the nodes keep their bodies. Cost: O(n).
  void refresh();
  /// Computes the motions of all nodes. Expects: `TreeOptions::velocity`. Cost: O(n).
  void find_motions();

  [[nodiscard]] TreeView view() const;
  [[nodiscard]] std::span<const Node> nodes() const noexcept { return table_.nodes(); }
  [[nodiscard]] std::span<const NodeExtent> extents() const noexcept { return table_.extents(); }
  /// By node; empty without `TreeOptions::velocity`, and zero until `find_motions`.
  [[nodiscard]] std::span<const NodeMotion> motions() const noexcept { return table_.motions(); }
  /// By node; empty if all charges have one sign.
  [[nodiscard]] std::span<const NodeSigns> signs() const noexcept { return table_.signs(); }
  /// By node, the largest reach of its bodies; empty without `TreeOptions::near_reach`.
  [[nodiscard]] std::span<const float> reaches() const noexcept { return table_.reaches(); }
  [[nodiscard]] std::span<const Source> sources() const noexcept { return sources_; }
  /// A partition of the bodies, in their order.
  [[nodiscard]] std::span<const BodyGroup> groups() const noexcept { return groups_; }
  /// A partition of the groups, in their order.
  [[nodiscard]] std::span<const Batch> batches() const noexcept { return batches_; }
  [[nodiscard]] const TreeOptions& options() const noexcept { return options_; }
  /// Moves the images of a shearing box, for later walks.
  void set_slide(const Slide& slide) noexcept { options_.slide = slide; }
  /// `particles::target_box` of the bodies of a node.
  [[nodiscard]] Box target_box(std::uint32_t node) const;

 private:
  friend class TreeBuild;
  friend class TreeOverCells;

  /// Removes all nodes, groups and batches, and selects the columns of later nodes by the options.
  void start();
  void sum_node(std::uint32_t node);
  void set_boxes(Batch& batch);  ///< And those of its groups.

  TreeOptions options_;
  Particles* store_ = nullptr;
  bool has_signs_ = false;  ///< Some charge may be negative.
  std::vector<Source> sources_;
  NodeTable table_;
  std::vector<BodyGroup> groups_;
  std::vector<Batch> batches_;
};

}  // namespace plait::particles
