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
#include "plait/particles/store/particles.hpp"
#include "plait/particles/trees/short_float.hpp"
#include "plait/particles/store/search.hpp"
#include "plait/particles/trees/cell_moments.hpp"

namespace plait::particles {

/// The order of the multipole expansion of a cell.
enum class Order : std::uint8_t { monopole = 1, quadrupole = 2 };

/// The signs of charges.
enum class ChargeSigns : std::uint8_t {
  one,    ///< No charge is negative, as of masses: cells have no dipole about their centre.
  both,   ///< Any. Cells have dipoles, so that those whose charges cancel act, too.
  apart,  ///< Any. The tree has a subtree for each sign, so that cells have a centre of charge and no dipole.
};

/// The sum of m x about the centre of a cell.
struct Dipole {
  float x = 0, y = 0, z = 0;
};

/// Traceless quadrupole about the centre of the cell, sum of m (3 x_a x_b - x^2 delta_ab); zz = -(xx + yy).
struct Quadrupole {
  float xx = 0, xy = 0, xz = 0, yy = 0, yz = 0;
};

/// The content of a node besides its moments.
enum class NodeKind : std::uint32_t {
  cell = 0,    ///< `first` and `count` are its children, contiguous and after it.
  leaf = 1,    ///< They are its bodies.
  sealed = 2,  ///< None: the node is never opened. In locally essential trees only.
};

/// A node of the tree in the form that walks read: one cache line, equal in local and received trees.
struct alignas(64) Node {
  Vector center;       ///< Of the absolute charges, such as the centre of mass.
  float opening2 = 0;  ///< The square of the distance from the centre within which the node is opened.
  float mass = 0;
  Quadrupole quadrupole;
  std::uint32_t first = 0;
  std::uint32_t count_and_kind = 0;  ///< Count times 4 plus kind.
  ShortFloat radius;                 ///< Of a sphere about the centre that contains all bodies.
  ShortFloat second_moment;          ///< Sum of m x^2 about the centre: what the quadrupole has no trace of.

  [[nodiscard]] std::uint32_t count() const { return count_and_kind >> 2; }
  [[nodiscard]] NodeKind kind() const { return static_cast<NodeKind>(count_and_kind & 3U); }
  void set_content(NodeKind kind, std::uint32_t begin, std::uint32_t count) {
    first = begin;
    count_and_kind = count << 2 | static_cast<std::uint32_t>(kind);
  }
};
static_assert(sizeof(Node) == 64 && std::is_trivially_copyable_v<Node>, "travels in messages");
inline constexpr std::uint32_t bodies_max = 1U << 30;  ///< On one rank, for `Node::count_and_kind`.

/// A particle as a source of long-range forces.
struct Source {
  Vector position;
  double mass = 0;
};
static_assert(sizeof(Source) == 32 && std::is_trivially_copyable_v<Source>, "travels in messages");

/// The motion of a node's bodies, by which a rank moves a received node to later times (`drift`).
struct NodeMotion {
  float x = 0, y = 0, z = 0;  ///< The velocity of the centre of mass.
  float spread = 0;           ///< No body is faster relative to it.
};
static_assert(sizeof(NodeMotion) == 16 && std::is_trivially_copyable_v<NodeMotion>, "travels in messages");

/// The part of a node that only the rank of the tree needs, at the same index.
struct NodeExtent {
  Box box;  ///< Tight.
  double mass = 0;
  double weight = 0;  ///< The sum of absolute charges.
  Vector dipole;      ///< About the centre; 0 but for rounding if all charges have one sign.
  float reach = 0;    ///< The largest of its bodies', if they have one.
  std::uint32_t first_body = 0;
  std::uint32_t body_count = 0;
  NodeMotion motion;  ///< Zero until `Tree::find_motions`.

  /// Equal sums are rounded equally.
  [[nodiscard]] bool has_both_signs() const { return weight != mass && weight != -mass; }
};

/// Consecutive bodies that share an interaction list.
struct BodyGroup {
  Box box;  ///< Tight, or larger by the reach of targets.
  std::uint32_t first_body = 0;
  std::uint32_t body_count = 0;
};

/// Consecutive groups that share most of their walk: the unit of work of a task.
struct Batch {
  Box box;
  std::uint32_t first_group = 0;
  std::uint32_t group_count = 0;
};

/// A local or received tree, as walks read it. The first `root_count` nodes are roots.
struct TreeView {
  std::span<const Node> nodes;
  std::uint32_t root_count = 1;
  std::span<const Source> sources;
  std::span<const NodeMotion> motions;  ///< Of the nodes, in received trees; empty unless the sender has a velocity.
  /// For each of `TreeOptions::travels`, its values in the order of the sources.
  std::vector<const std::byte*> columns;
  /// By node: the program's moments, else dipoles if charges have both signs. Empty if there are neither.
  std::span<const std::byte> moments;
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
  Vector period;  ///< Of periodic axes, where the nearest image acts; 0 along open axes.
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
  std::vector<Node> nodes;
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

 private:
  [[nodiscard]] double charge_of(std::size_t place) const;
  [[nodiscard]] MortonKey key_of(std::size_t place) const;
  void sum_node(std::size_t i);    ///< From its bodies or its children, with its opening distance and moments.
  void set_boxes(Batch& batch);    ///< And those of its groups.
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
  std::vector<Node> nodes_;
  std::vector<NodeExtent> extents_;
  std::vector<std::byte> moments_;
  std::vector<BodyGroup> groups_;
  std::vector<Batch> batches_;
  detail::CellNodes cell_nodes_;  ///< Of a tree over cells.
  detail::Branches branches_;
};

}  // namespace plait::particles
