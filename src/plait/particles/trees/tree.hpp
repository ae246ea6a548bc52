// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "plait/particles/store/box.hpp"
#include "plait/particles/store/key_sort.hpp"
#include "plait/particles/store/kinds.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles {

/// How far the charge in a cell is expanded.
enum class Order : std::uint8_t { monopole = 1, quadrupole = 2 };

/// Traceless quadrupole about the centre of mass, sum of m (3 x_a x_b - x^2 delta_ab); zz = -(xx + yy).
struct Quadrupole {
  float xx = 0, xy = 0, xz = 0, yy = 0, yz = 0;
};

/// What a node holds besides its moments.
enum class NodeKind : std::uint32_t {
  cell = 0,    ///< `first` and `count` name its children, contiguous and after it.
  leaf = 1,    ///< They name its bodies.
  sealed = 2,  ///< Nothing: it is always taken as its moments. Only in trees made for others.
};

/// A cell of the tree as the walk sees it: one cache line, the same in local trees and in those received.
struct alignas(64) Node {
  Vector center;       ///< Of mass.
  float opening2 = 0;  ///< Opened when its centre is at most this near (squared).
  float mass = 0;
  Quadrupole quadrupole;
  std::uint32_t first = 0;
  std::uint32_t count_and_kind = 0;  ///< Count times 4 plus kind.
  float radius = 0;                  ///< Of a sphere about the centre that holds all its bodies.

  [[nodiscard]] std::uint32_t count() const { return count_and_kind >> 2; }
  [[nodiscard]] NodeKind kind() const { return static_cast<NodeKind>(count_and_kind & 3U); }
  void set_content(NodeKind kind, std::uint32_t begin, std::uint32_t count) {
    first = begin;
    count_and_kind = count << 2 | static_cast<std::uint32_t>(kind);
  }
};
static_assert(sizeof(Node) == 64 && std::is_trivially_copyable_v<Node>, "travels in messages");
inline constexpr std::uint32_t bodies_max = 1U << 30;  ///< On one rank, for `Node::count_and_kind`.

/// What acts: all of a particle that long-range forces need.
struct Source {
  Vector position;
  double mass = 0;
};
static_assert(sizeof(Source) == 32 && std::is_trivially_copyable_v<Source>, "travels in messages");

/// What only the tree's owner needs of a node, at the same index.
struct NodeExtent {
  Box box;  ///< Tight.
  double mass = 0;
  std::uint32_t first_body = 0;
  std::uint32_t body_count = 0;
};

/// Consecutive bodies that share a list of interactions.
struct BodyGroup {
  Box box;
  std::uint32_t first_body = 0;
  std::uint32_t body_count = 0;
};

/// Consecutive groups that lie close together and share most of their walk. Work is divided between threads by these.
struct Batch {
  Box box;
  std::uint32_t first_group = 0;
  std::uint32_t group_count = 0;
};

/// Something to walk: a local tree, or one received. Node 0 to `root_count` - 1 are the roots.
struct TreeView {
  std::span<const Node> nodes;
  std::uint32_t root_count = 1;
  std::span<const Source> sources;
  /// What else is known of the sources: of each of `TreeOptions::travels` the values, in the order of the sources.
  std::vector<const std::byte*> columns;
};

struct TreeOptions {
  Field<double> charge;  ///< What acts; that of kinds that are no sources counts as 0.
  Kinds sources;
  double theta = 0.5;
  Order order = Order::quadrupole;  ///< Of the walks: determines how near theta lets them come.
  double near_radius = 0;           ///< Cells with bodies so near are opened whatever their size.
  double cutoff = 0;                ///< Beyond it nothing acts; 0: all does.
  Vector period;                    ///< Of periodic axes, where the nearest image acts; 0 along open ones.
  std::uint32_t leaf_bodies_max = 8;
  std::uint32_t group_bodies_max = 64;
  std::uint32_t batch_bodies_max = 1024;
  std::vector<AnyField> travels;  ///< What near pairs need of a source besides position and charge.
};

namespace detail {

/// A subtree under construction: node 0 is its root, indices of nodes count from there.
struct Branch {
  std::uint32_t node = 0;  ///< Of the top of the tree, which it replaces.
  std::uint32_t first_body = 0;
  std::uint32_t last_body = 0;
  std::vector<Node> nodes;
  std::vector<NodeExtent> extents;
  std::vector<BodyGroup> groups;
  std::vector<Batch> batches;  ///< `first_group` counts from the branch's first.
};

}  // namespace detail

/// An octree over the bodies of one rank.
///
/// `build` does all; the steps below it are its pieces, to be run as tasks, in their order. Threads: the pieces of
/// one step may run at the same time, for different pieces. Reuse the object: its memory is kept.
class Tree {
 public:
  /// Sorts `store` along the curve and builds the tree over it. Cost: O(n).
  /// Throws: `Error` when a position is not finite.
  void build(Particles& store, const TreeOptions& options);

  /// Begins a build in `pieces` pieces; `box` is that of all particles (`bounding_box`). Borrows `store`.
  void begin(Particles& store, const TreeOptions& options, const Box& box, std::uint32_t pieces);
  [[nodiscard]] std::uint32_t pieces() const noexcept { return pieces_; }
  void sort_chunk(std::uint32_t piece);   ///< Keys of a chunk of bodies, sorted.
  void split_sort();                      ///< Not a piece.
  void merge_piece(std::uint32_t piece);  ///< With several pieces only.
  void order_piece(std::uint32_t piece);  ///< Brings a chunk of bodies into order; makes sources.
  void plan_subtrees();                   ///< Not a piece. Makes the top of the tree, swaps the bodies.
  [[nodiscard]] std::uint32_t subtrees() const noexcept;
  void build_subtree(std::uint32_t subtree);
  void finish();  ///< Not a piece. Joins the subtrees.

  /// Takes positions and charges of the store anew: particles keep their places, nodes their content. Cost: O(n).
  void refresh();

  [[nodiscard]] TreeView view() const;
  [[nodiscard]] std::span<const Node> nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::span<const NodeExtent> extents() const noexcept { return extents_; }
  [[nodiscard]] std::span<const Source> sources() const noexcept { return sources_; }
  /// In the order of the bodies, which they partition.
  [[nodiscard]] std::span<const BodyGroup> groups() const noexcept { return groups_; }
  /// In the order of the groups, which they partition.
  [[nodiscard]] std::span<const Batch> batches() const noexcept { return batches_; }
  [[nodiscard]] const TreeOptions& options() const noexcept { return options_; }

 private:
  [[nodiscard]] double charge_of(std::size_t place) const;
  void sum_cell(std::size_t i);  ///< From its children.

  TreeOptions options_;
  std::uint32_t pieces_ = 1;
  KeySpace keys_of_;
  Particles* store_ = nullptr;
  std::vector<Particles::Index> from_;  ///< The former place of each particle.
  std::vector<KeyedIndex> keys_;
  std::vector<KeyedIndex> keys_scratch_;
  std::vector<PiecewiseSort> sort_;
  std::vector<Source> sources_;
  std::vector<Node> nodes_;
  std::vector<NodeExtent> extents_;
  std::vector<BodyGroup> groups_;
  std::vector<Batch> batches_;
  std::vector<detail::Branch> branches_;  ///< The first `branch_count_` are of this tree; the rest keep memory.
  std::size_t branch_count_ = 0;
};

}  // namespace plait::particles
