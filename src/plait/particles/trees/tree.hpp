// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "plait/particles/store/box.hpp"
#include "plait/particles/store/cell_sizes.hpp"
#include "plait/particles/store/key_sort.hpp"
#include "plait/particles/store/kinds.hpp"
#include "plait/particles/store/lattice.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/search.hpp"
#include "plait/particles/trees/cell_moments.hpp"
#include "plait/particles/trees/node.hpp"

namespace plait::particles {

/// The order of the multipole expansion of a cell.
enum class Order : std::uint8_t { monopole = 1, quadrupole = 2 };

/// The signs of charges.
enum class ChargeSigns : std::uint8_t {
  one,    ///< No charge is negative, as of masses: cells have no dipole about their centre.
  both,   ///< Any. Cells have dipoles, so that those whose charges cancel act, too.
  apart,  ///< Any. The tree has a subtree for each sign, so that cells have a centre of charge and no dipole.
};

struct TreeOptions {
  Field<double> charge;  ///< Such as mass.
  Kinds sources;         ///< Other kinds have no charge.
  double theta = 0.5;    ///< The opening angle; 0 sums directly.
  Order order = Order::quadrupole;
  ChargeSigns signs = ChargeSigns::one;
  CellMoments moments;  ///< The program's own, which take the place of dipoles.
  /// Within this distance forces are direct and those inside a homogeneous sphere of this radius, and
  /// `WalkOptions::near` is called. 0: none.
  double near_radius = 0;
  /// Each particle's own near radius: forces between pairs within it are direct, and `WalkOptions::near` is called.
  /// Forces are those of all other pairs. None, or `near_radius` is 0.
  std::optional<Field<float>> near_reach;
  Search near_search = Search::scatter;  ///< Whose reach makes a pair near.
  /// The distance from which on nothing acts, measured to the centre of a cell. 0: none. Forces should approach zero
  /// there.
  double cutoff = 0;
  Vector period;  ///< Of periodic axes, where the nearest image acts (`Lattice::in_box`); 0 along open axes.
  Slide slide = {};
  // Smaller sizes make shorter lists, larger ones fewer walks.
  std::uint32_t leaf_bodies_max = 8;
  std::uint32_t group_bodies_max = 64;
  std::uint32_t batch_bodies_max = 1024;
  /// The fields of sources, besides position and charge, that `WalkOptions::near` or the kernel reads. The last one is
  /// `near_reach`, if that exists.
  std::vector<AnyField> travels;
  /// If set, the motions of nodes travel with them (`Tree::find_motions`).
  std::optional<Field<Vector>> velocity;
};

/// The motion of particles since the time of the positions in their store.
struct Drift {
  Field<Vector> velocity;
  double duration = 0;
};

/// The box of the bodies of a node, with all that is within their reach if targets search: cells near to it are opened.
[[nodiscard]] Box target_box(const NodeExtent& extent, const TreeOptions& options);

/// The bytes of one node in `TreeView::moments`.
[[nodiscard]] inline std::size_t moment_bytes(const TreeOptions& options) {
  return options.moments.bytes > 0 ? options.moments.bytes : options.signs == ChargeSigns::both ? sizeof(Dipole) : 0;
}

namespace detail {

/// A subtree under construction, with node 0 as its root.
struct Branch {
  std::uint32_t node = 0;  ///< The index of its root in the whole tree.
  std::uint32_t first_body = 0;
  std::uint32_t last_body = 0;
  Nodes nodes;
  std::vector<NodeExtent> extents;
  std::vector<std::byte> moments;
  std::vector<BodyGroup> groups;
  std::vector<Batch> batches;  ///< `first_group` counts from the branch's first.
};

/// The nodes of a batch: its root, and all below it.
struct BatchNodes {
  std::uint32_t root = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// The nodes of a tree over cells.
struct CellNodes {
  std::vector<BatchNodes> of_batches;
  std::vector<std::uint32_t> top;  ///< Those above the batches, ascending.
};

/// The first `count` are in use; the rest keep memory.
struct Branches {
  std::vector<Branch> all;
  std::size_t count = 0;
};

}  // namespace detail

/// An octree over the bodies of one rank, or a tree over given cells. Keeps its memory for the next build.
///
/// `build` builds it on one thread. The functions from `begin` to `finish` are the phases of a parallel build, in this
/// order. Threads: calls of one phase may run concurrently, for different pieces.
class Tree {
 public:
  /// Sorts `store` along the curve and builds the tree over it. Throws: as `bounding_box`. Cost: O(n).
  void build(Particles& store, const TreeOptions& options);

  /// Begins a build in `pieces` pieces. `box` is the `bounding_box` of `store`, which is borrowed.
  void begin(Particles& store, const TreeOptions& options, const Box& box, std::uint32_t pieces);
  [[nodiscard]] std::uint32_t pieces() const noexcept { return pieces_; }
  void sort_chunk(std::uint32_t piece);   ///< Computes and sorts the keys of some bodies.
  void split_sort();                      ///< Once, if there are several pieces.
  void merge_piece(std::uint32_t piece);  ///< If there are several pieces.
  void order_piece(std::uint32_t piece);  ///< Reorders some bodies and creates their sources.
  void plan_subtrees();                   ///< Once: builds the top of the tree.
  [[nodiscard]] std::uint32_t subtrees() const noexcept { return static_cast<std::uint32_t>(branches_.count); }
  void build_subtree(std::uint32_t subtree);
  void finish();  ///< Once: joins the subtrees.

  // A tree over given cells, whose particles keep their order: `assign`, then `refresh_batch` for each batch, then
  // `refresh_top`; the last two again at later times.

  /// Takes the structure from `sizes`, which divide all particles of `store`: each cell is a batch, each of its groups
  /// a group. Borrows `store`. Moments are undefined until `refresh_top`. Cost: O(leaves).
  void assign(Particles& store, const TreeOptions& options, const CellSizes& sizes);
  /// Recomputes the nodes of a batch from predicted positions. Threads: concurrent for different batches.
  void refresh_batch(std::uint32_t batch, const Drift& drift);
  /// Once: recomputes the nodes above the batches. Cost: O(batches).
  void refresh_top();
  /// Computes the motions of all nodes. Cost: O(n).
  void find_motions();

  /// Recomputes moments from the present positions and charges; the nodes keep their bodies. Cost: O(n).
  void refresh();

  [[nodiscard]] TreeView view() const;
  [[nodiscard]] std::span<const Node> nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::span<const NodeExtent> extents() const noexcept { return extents_; }
  [[nodiscard]] std::span<const Source> sources() const noexcept { return sources_; }
  /// A partition of the bodies, in their order.
  [[nodiscard]] std::span<const BodyGroup> groups() const noexcept { return groups_; }
  /// A partition of the groups, in their order.
  [[nodiscard]] std::span<const Batch> batches() const noexcept { return batches_; }
  [[nodiscard]] const TreeOptions& options() const noexcept { return options_; }
  /// Moves the images of a shearing box, for later walks.
  void set_slide(const Slide& slide) noexcept { options_.slide = slide; }

 private:
  [[nodiscard]] double charge_of(std::size_t place) const;
  [[nodiscard]] MortonKey key_of(std::size_t place) const;
  void sum_node(std::size_t i);  ///< From its bodies or its children, with its opening distance and moments.
  void set_boxes(Batch& batch);  ///< And those of its groups.
  [[nodiscard]] std::span<const float> reaches() const;  ///< By body; empty if they have none.
  [[nodiscard]] float reach_of(std::size_t first, std::size_t count) const;

  TreeOptions options_;
  std::uint32_t pieces_ = 1;
  KeySpace keys_of_;
  bool has_subtrees_of_signs_ = false;
  Particles* store_ = nullptr;
  std::vector<Particles::Index> from_;  ///< The previous place of each particle.
  std::vector<KeyedIndex> keys_;
  std::vector<KeyedIndex> keys_scratch_;
  std::vector<PiecewiseSort> sort_;
  std::vector<Source> sources_;
  Nodes nodes_;
  std::vector<NodeExtent> extents_;
  std::vector<std::byte> moments_;
  std::vector<BodyGroup> groups_;
  std::vector<Batch> batches_;
  detail::CellNodes cell_nodes_;  ///< Of a tree over cells.
  detail::Branches branches_;
};

}  // namespace plait::particles
