// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "plait/particles/store/box.hpp"
#include "plait/particles/store/line_vector.hpp"
#include "plait/particles/store/vector.hpp"
#include "plait/particles/trees/short_float.hpp"

namespace plait::particles {

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
struct Node {
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
/// Nodes at the beginnings of cache lines. In received buffers they are where messages arrived.
using Nodes = LineVector<Node>;
inline constexpr std::uint32_t bodies_max = 1U << 30;  ///< On one rank, for `Node::count_and_kind`.

/// A particle as a source of long-range forces.
struct Source {
  Vector position;
  double mass = 0;
};
static_assert(sizeof(Source) == 32 && std::is_trivially_copyable_v<Source>, "travels in messages");

/// The motion of a node's bodies, by which a rank moves a received node to later times (`drift`).
struct NodeMotion {
  float x = 0, y = 0, z = 0;  ///< The velocity of the centre.
  float spread = 0;           ///< No body is faster relative to it.
};
static_assert(sizeof(NodeMotion) == 16 && std::is_trivially_copyable_v<NodeMotion>, "travels in messages");

/// The part of a node that only the rank of the tree needs, at the same index.
struct NodeExtent {
  Box box;  ///< Tight.
  double mass = 0;
  std::uint32_t first_body = 0;
  std::uint32_t body_count = 0;
};
static_assert(sizeof(NodeExtent) == 64, "one cache line: builds of trees write one for each node");

/// The charges of a node, in trees that may have charges of both signs.
struct NodeSigns {
  double weight = 0;  ///< The sum of absolute charges.
  Vector dipole;      ///< About the centre; 0 if all charges have one sign.

  /// Equal sums are rounded equally.
  [[nodiscard]] bool are_both(double mass) const { return weight != mass && weight != -mass; }
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

}  // namespace plait::particles
