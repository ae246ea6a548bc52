// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plait/particles/store/key_sort.hpp"
#include "plait/particles/trees/tree.hpp"

namespace plait::particles {

/// Builds an octree over the bodies of a store, which it sorts along the curve. Keeps its memory for the next build.
///
/// The functions from `begin` to `finish` are the phases of a parallel build, in this order; `build` runs them on one
/// thread. Threads: calls of one phase may run concurrently, for different pieces.
class TreeBuild {
 public:
  /// Borrows `tree`.
  explicit TreeBuild(Tree& tree) : tree_{&tree} {}

  /// Throws: as `bounding_box`. Cost: O(n).
  void build(Particles& store, const TreeOptions& options);

  /// Begins a build in `pieces` pieces. `box` is the `bounding_box` of `store`, which is borrowed.
  void begin(Particles& store, const TreeOptions& options, const Box& box, std::uint32_t pieces);
  [[nodiscard]] std::uint32_t pieces() const noexcept { return pieces_; }
  void sort_chunk(std::uint32_t piece);   ///< Computes and sorts the keys of some bodies.
  void split_sort();                      ///< Once, if there are several pieces.
  void merge_piece(std::uint32_t piece);  ///< If there are several pieces.
  void order_piece(std::uint32_t piece);  ///< Reorders some bodies and creates their sources.
  void plan_subtrees();                   ///< Once: builds the top of the tree.
  [[nodiscard]] std::uint32_t subtrees() const noexcept { return static_cast<std::uint32_t>(branch_count_); }
  void build_subtree(std::uint32_t subtree);
  void plan_join();  ///< Once: makes room for all subtrees.
  /// The subtrees to join: none if the whole tree is one.
  [[nodiscard]] std::uint32_t joins() const noexcept { return branch_count_ > 1 ? subtrees() : 0; }
  void join_subtree(std::uint32_t subtree);
  void finish();  ///< Once: sums the nodes above the subtrees.

 private:
  class Top;
  class Subtree;

  /// A subtree under construction, with node 0 as its root.
  struct Branch {
    std::uint32_t node = 0;  ///< The index of its root in the whole tree.
    std::uint32_t first_body = 0;
    std::uint32_t last_body = 0;
    NodeTable table;
    std::vector<BodyGroup> groups;
    std::vector<Batch> batches;  ///< `first_group` counts from the branch's first.
    // Its places in the whole tree: of its node 1, of its first group and of its first batch.
    std::uint32_t node_begin = 0;
    std::uint32_t group_begin = 0;
    std::uint32_t batch_begin = 0;
  };

  [[nodiscard]] MortonKey key_of(const Vector& position, double charge) const;

  Tree* tree_;
  std::uint32_t pieces_ = 1;
  KeySpace keys_of_;
  bool has_subtrees_of_signs_ = false;
  std::atomic<bool> has_negative_ = false;  ///< Some charge is. Relaxed: phases order its writes before its reads.
  std::vector<Particles::Index> from_;      ///< The previous place of each particle.
  std::vector<KeyedIndex> keys_;
  std::vector<KeyedIndex> keys_scratch_;
  std::vector<PiecewiseSort> sort_;
  std::vector<Branch> branches_;  ///< The first `branch_count_` are in use; the rest keep memory.
  std::size_t branch_count_ = 0;
  std::uint32_t top_size_ = 0;  ///< The nodes from the root to the roots of branches.
};

/// Builds `tree` once, with memory of its own. As `TreeBuild::build`.
void build_tree(Tree& tree, Particles& store, const TreeOptions& options);

}  // namespace plait::particles
