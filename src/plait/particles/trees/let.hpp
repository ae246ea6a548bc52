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
#include "plait/particles/trees/rank_summary.hpp"
#include "plait/particles/trees/tree.hpp"

namespace plait::particles {

/// The header of a locally essential tree: a pruned copy of a rank's tree in one buffer, which the receiver walks like
/// its own. A node that no particle of the receiver opens is sealed.
///
/// Layout: header, nodes, their motions if the tree has them, their moments (`TreeView::moments`), sources, the fields
/// that travel with sources: each a packed array that begins at a multiple of 8 bytes, in the machine's byte order.
struct LetHeader {
  static constexpr std::uint64_t magic_value = 0x31'54454c'54494c50;  // "PLITLET1"
  std::uint64_t magic = magic_value;
  std::uint32_t node_count = 0;
  std::uint32_t source_count = 0;
  std::uint32_t column_count = 0;
  std::uint32_t row_bytes = 0;     ///< Of a source, in all columns.
  std::uint32_t motion_count = 0;  ///< 0 or `node_count`.
  std::uint32_t moment_bytes = 0;  ///< Of a node.
  std::uint64_t unused2[4] = {};
};
static_assert(sizeof(LetHeader) == 64, "nodes that follow are aligned to cache lines if the buffer is");

/// The part of a tree that another rank needs. Keeps its memory for the next choice.
class LetPlan {
 public:
  /// Chooses the part that particles in the boxes of `receiver` need. Cost: O(nodes chosen x boxes near them).
  void choose(const Tree& tree, const RankBoundary& receiver);
  /// Writes the chosen part of the tree to `buffer`, with its present moments (`Tree::refresh`).
  void write(const Tree& tree, Bytes& buffer) const;

 private:
  void copy(const Tree& tree, std::uint32_t from, std::uint32_t to, std::pair<std::size_t, std::size_t> near);

  /// Consecutive sources of the tree.
  struct Range {
    std::size_t first;
    std::size_t count;
  };
  /// The operands of the opening test.
  struct Target {
    Box box;
    double guard2;
  };

  std::vector<Target> targets_;
  Nodes nodes_;                      ///< `first` and `count_and_kind` only.
  std::vector<std::uint32_t> from_;  ///< By node: its index in the tree.
  std::vector<Range> ranges_;
  std::size_t source_count_ = 0;
};

/// Returns a view of a received tree in `buffer`, which must outlive it and be aligned to 8 bytes. Checks all indices
/// and numbers, so that walks are safe; not the program's own moments. Expects: the sender's tree has the same
/// `travels` and `moment_bytes`. Error: names the fault. Cost: O(buffer).
[[nodiscard]] Result<TreeView> open_let(std::span<const std::byte> buffer,
                                        std::span<const AnyField> travels,
                                        std::size_t moment_bytes = 0);

/// Moves a node by `duration` along its motion. Its sphere grows by the spread of velocities, its opening distance in
/// proportion.
void drift(Node& node, const NodeMotion& motion, double duration);

/// Moves the nodes and sources of a received tree, `view` of `buffer`, to a time later by `duration`. Expects: it has
/// motions; column `velocities` has the velocities of its sources. Errors grow with the square of the whole duration
/// since the tree was sent: velocities are those of that time. Cost: O(buffer).
void drift_let(std::span<std::byte> buffer, const TreeView& view, std::size_t velocities, double duration);

/// The roots of ranks, and of blocks of ranks, that act on all particles here as multipoles. Skips empty ranks.
class FarField {
 public:
  enum class Shape : std::uint8_t {
    flat,  ///< Each root acts alone, as in its own tree.
    tree,  ///< The roots are the leaves of a tree: a walk takes time logarithmic in their number.
  };

  FarField() = default;
  /// `rows` are those of `summaries`, one after the other.
  FarField(SummaryRow rows, const TreeSummaries& summaries, Shape shape);
  /// Valid during the lifetime of this object.
  [[nodiscard]] TreeView view() const { return {nodes_, root_count_, {}, {}, {}, moments_}; }

 private:
  void add(SummaryRow row, const TreeSummaries& summaries);
  void join_levels(std::vector<SummaryRow> level, const TreeSummaries& summaries);

  Nodes nodes_;
  std::vector<std::byte> moments_;
  std::uint32_t root_count_ = 0;
};

}  // namespace plait::particles
