// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/particles/trees/node.hpp"

namespace plait::particles {

/// The nodes of a tree or a part of one, with what each has on its own rank. Columns that few trees need are empty in
/// the others, which so pay nothing for them. Keeps its memory.
class NodeTable {
 public:
  /// The columns besides nodes and extents.
  struct Columns {
    bool signs = false;
    bool reaches = false;
    bool motions = false;
    std::size_t moment_bytes = 0;  ///< Of one node; 0: no moments.
  };

  /// Removes all nodes, and selects the columns of later ones.
  void start(const Columns& columns);
  /// Appends nodes with undefined content; returns the index of the first. Cost: amortised O(count).
  std::uint32_t add(std::uint32_t count);
  /// Copies the nodes [first, first + count) of a table with the same columns to `to`. Threads: concurrent for disjoint
  /// places.
  void copy(const NodeTable& from, std::uint32_t first, std::uint32_t count, std::uint32_t to);

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] const Columns& columns() const noexcept { return columns_; }
  [[nodiscard]] std::span<Node> nodes() noexcept { return {nodes_.data(), size_}; }
  [[nodiscard]] std::span<const Node> nodes() const noexcept { return {nodes_.data(), size_}; }
  [[nodiscard]] std::span<NodeExtent> extents() noexcept { return {extents_.data(), size_}; }
  [[nodiscard]] std::span<const NodeExtent> extents() const noexcept { return {extents_.data(), size_}; }

  // Each of these is empty without its column.
  [[nodiscard]] std::span<NodeSigns> signs() noexcept { return {signs_.data(), columns_.signs ? size_ : 0U}; }
  [[nodiscard]] std::span<const NodeSigns> signs() const noexcept {
    return {signs_.data(), columns_.signs ? size_ : 0U};
  }
  /// The largest reach of a node's bodies.
  [[nodiscard]] std::span<float> reaches() noexcept { return {reaches_.data(), columns_.reaches ? size_ : 0U}; }
  [[nodiscard]] std::span<const float> reaches() const noexcept {
    return {reaches_.data(), columns_.reaches ? size_ : 0U};
  }
  [[nodiscard]] std::span<NodeMotion> motions() noexcept { return {motions_.data(), columns_.motions ? size_ : 0U}; }
  [[nodiscard]] std::span<const NodeMotion> motions() const noexcept {
    return {motions_.data(), columns_.motions ? size_ : 0U};
  }
  /// `TreeView::moments`.
  [[nodiscard]] std::span<std::byte> moments() noexcept { return {moments_.data(), size_ * columns_.moment_bytes}; }
  [[nodiscard]] std::span<const std::byte> moments() const noexcept {
    return {moments_.data(), size_ * columns_.moment_bytes};
  }

 private:
  void grow(std::size_t size);

  // All have the same length in nodes, of which the first `size_` are valid: appending then initialises nothing.
  std::uint32_t size_ = 0;
  Columns columns_;
  Nodes nodes_;
  std::vector<NodeExtent> extents_;
  std::vector<NodeSigns> signs_;
  std::vector<float> reaches_;
  std::vector<NodeMotion> motions_;
  std::vector<std::byte> moments_;
};

}  // namespace plait::particles
