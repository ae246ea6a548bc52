// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"
#include "plait/particles/trees/boundary.hpp"
#include "plait/particles/trees/tree.hpp"

namespace plait::particles {

/// The locally essential tree of a rank for another: a pruned copy, in one flat buffer, that its receiver walks as it
/// walks its own tree. Where no particle of the receiver can need more, a node is sealed.
///
/// Layout: `LetHeader`, nodes, sources, each of the fields that travel with sources, each a packed array that begins at
/// a multiple of 8 bytes; the byte order and floating-point format of the machine.
struct LetHeader {
  static constexpr std::uint64_t magic_value = 0x31'54454c'54494c50;  // "PLITLET1"
  std::uint64_t magic = magic_value;
  std::uint32_t node_count = 0;
  std::uint32_t source_count = 0;
  std::uint32_t column_count = 0;
  std::uint32_t row_bytes = 0;  ///< Of a source, in all columns together.
  std::uint64_t unused2[5] = {};
};
static_assert(sizeof(LetHeader) == 64, "nodes that follow are aligned to cache lines if the buffer is");

/// Which part of a tree another rank needs. Reuse the object: its memory is kept.
class LetPlan {
 public:
  /// The part that the particles in the boxes of `receiver` need of `tree`. Cost: O(nodes chosen x boxes near them).
  void choose(const Tree& tree, const RankBoundary& receiver);
  /// Fills `buffer`, keeping its memory, with that part of the tree, as it is now: after `choose`, or after
  /// `Tree::refresh`.
  void write(const Tree& tree, Bytes& buffer) const;

 private:
  void copy(const Tree& tree, std::uint32_t from, std::uint32_t to, std::pair<std::size_t, std::size_t> near);
  void copy_bodies(const Node& from, Node& to);

  /// Of sources of the tree, one after the other.
  struct Range {
    std::size_t first;
    std::size_t count;
  };
  /// A box of the receiver with what the opening test needs.
  struct Target {
    Box box;
    double guard2;
  };

  std::vector<Target> targets_;
  std::vector<Node> nodes_;          ///< Their content only.
  std::vector<std::uint32_t> from_;  ///< Of each the node of the tree.
  std::vector<Range> ranges_;
  std::size_t source_count_ = 0;
};

/// Checks a received tree wholly, so that no walk over it can go astray, and gives a view into `buffer`, which must
/// stay and be aligned to 8 bytes. The sender's tree was made with the same `travels`.
/// Error: names what is wrong. Cost: O(buffer).
[[nodiscard]] Result<TreeView> open_let(std::span<const std::byte> buffer, std::span<const AnyField> travels);

/// The root moments of ranks that are far for all particles here. Skips empty ranks.
///
/// The view it gives holds as long as the object.
class FarField {
 public:
  enum class Shape : std::uint8_t {
    flat,  ///< Each acts by itself: exactly as the root of its tree would.
    tree,  ///< In a tree of their own, so that a walk takes time logarithmic in their number.
  };

  FarField() = default;
  FarField(std::span<const RankSummary> ranks, const TreeOptions& options, Shape shape);
  [[nodiscard]] TreeView view() const;

 private:
  std::vector<Node> nodes_;
  std::uint32_t root_count_ = 0;
};

}  // namespace plait::particles
