// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/detail/moments.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace plait::particles::detail {
namespace {

struct MomentSum {
  double xx = 0, xy = 0, xz = 0, yy = 0, yz = 0;
  double trace = 0;  ///< Of the second moment.

  void add_point(double mass, const Vector& d) {
    const double d2 = dot(d, d);
    xx += mass * (3 * d.x * d.x - d2);
    yy += mass * (3 * d.y * d.y - d2);
    xy += mass * 3 * d.x * d.y;
    xz += mass * 3 * d.x * d.z;
    yz += mass * 3 * d.y * d.z;
    trace += mass * d2;
  }
  /// The change of second moments with a dipole that is moved by `d`.
  void add_dipole(const Vector& p, const Vector& d) {
    const double pd = 2 * dot(p, d);
    trace += pd;
    xx += 6 * p.x * d.x - pd;
    yy += 6 * p.y * d.y - pd;
    xy += 3 * (p.x * d.y + p.y * d.x);
    xz += 3 * (p.x * d.z + p.z * d.x);
    yz += 3 * (p.y * d.z + p.z * d.y);
  }
  void add(const Node& node) {
    const Quadrupole& q = node.quadrupole;
    trace += static_cast<double>(node.second_moment.value());
    xx += q.xx;
    xy += q.xy;
    xz += q.xz;
    yy += q.yy;
    yz += q.yz;
  }
  void write_to(Node& node) const {
    node.quadrupole = {static_cast<float>(xx),
                       static_cast<float>(xy),
                       static_cast<float>(xz),
                       static_cast<float>(yy),
                       static_cast<float>(yz)};
    node.second_moment = ShortFloat::nearest(static_cast<float>(trace));
  }
};

/// The next larger number; the same for infinity. Expects: not negative, not a NaN.
float next_above(float value) {
  return value < std::numeric_limits<float>::infinity() ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) + 1)
                                                        : value;
}

enum class Signs : std::uint8_t { one, both };

/// Computes centre, mass and second moments of a leaf, its box and, with both signs, weight and dipole.
template <Signs signs_of>
void sum_bodies(std::span<const Source> sources, NodeTable& table, std::uint32_t index) {
  Node& node = table.nodes()[index];
  Box box;
  double mass = 0;
  double weight = 0;
  Vector weighted;
  const Vector origin = sources.front().position;  // near the centre: keeps the sums' rounding small
  for (const Source& source : sources) {
    box.include(source.position);
    mass += source.mass;
    const double absolute = signs_of == Signs::both ? std::abs(source.mass) : source.mass;
    weight += absolute;
    weighted += absolute * (source.position - origin);
  }
  node.center = weight > 0 ? origin + (1 / weight) * weighted : 0.5 * (box.low + box.high);
  MomentSum sum;
  for (const Source& source : sources) {
    sum.add_point(source.mass, source.position - node.center);
  }
  node.mass = static_cast<float>(mass);
  sum.write_to(node);
  table.extents()[index].box = box;
  table.extents()[index].mass = mass;
  if constexpr (signs_of == Signs::both) {
    NodeSigns& signs = table.signs()[index];
    signs = {weight, {}};
    if (signs.are_both(mass)) {  // about the centre, charges of one sign have no dipole
      for (const Source& source : sources) {
        signs.dipole += source.mass * (source.position - node.center);
      }
    }
  }
}

/// The same from child nodes.
template <Signs signs_of>
void sum_parts(NodeTable& table, std::uint32_t index) {
  Node& node = table.nodes()[index];
  const std::span children = table.nodes().subspan(node.first, node.count());
  const std::span extents = table.extents().subspan(node.first, node.count());
  const std::span signs = signs_of == Signs::both ? table.signs().subspan(node.first, node.count()) : table.signs();
  Box box;
  double mass = 0;
  double weight = 0;
  Vector weighted;
  const Vector origin = children.front().center;
  for (std::size_t i = 0; i < children.size(); ++i) {
    box.include(extents[i].box);
    mass += extents[i].mass;
    const double absolute = signs_of == Signs::both ? signs[i].weight : extents[i].mass;
    weight += absolute;
    weighted += absolute * (children[i].center - origin);
  }
  node.center = weight > 0 ? origin + (1 / weight) * weighted : 0.5 * (box.low + box.high);
  MomentSum sum;
  for (std::size_t i = 0; i < children.size(); ++i) {
    sum.add(children[i]);
    sum.add_point(extents[i].mass, children[i].center - node.center);
  }
  if constexpr (signs_of == Signs::both) {
    NodeSigns& own = table.signs()[index];
    own = {weight, {}};
    if (own.are_both(mass)) {
      for (std::size_t i = 0; i < children.size(); ++i) {
        const Vector offset = children[i].center - node.center;
        sum.add_dipole(signs[i].dipole, offset);
        own.dipole += signs[i].dipole + extents[i].mass * offset;
      }
    }
  }
  node.mass = static_cast<float>(mass);
  sum.write_to(node);
  table.extents()[index].box = box;
  table.extents()[index].mass = mass;
}

/// The largest reach of the bodies of a node, from these or from its children.
float reach_of(const TreeBodies& bodies, const NodeTable& table, const Node& node) {
  const std::span<const float> parts =
      node.kind() == NodeKind::leaf ? bodies.store[*bodies.options.near_reach] : table.reaches();
  return std::ranges::max(parts.subspan(node.first, node.count()));
}

/// Computes the moment of a node (`TreeView::moments`) from the bodies of a leaf or the moments of children.
void sum_moment(const TreeBodies& bodies, NodeTable& table, std::uint32_t index) {
  const std::size_t bytes = table.columns().moment_bytes;
  std::byte* const all = table.moments().data();
  std::byte* const to = all + index * bytes;
  const CellMoments& own = bodies.options.moments;
  if (own.bytes == 0) {
    const Vector& sum = table.signs()[index].dipole;
    const Dipole dipole{static_cast<float>(sum.x), static_cast<float>(sum.y), static_cast<float>(sum.z)};
    std::memcpy(to, &dipole, sizeof dipole);
    return;
  }
  const Node& node = table.nodes()[index];
  const Particles& store = bodies.store;
  std::memcpy(to, own.none.data(), bytes);
  for (std::uint32_t of = node.first; of < node.first + node.count(); ++of) {
    if (node.kind() == NodeKind::cell) {
      own.add_child(to, all + of * bytes, table.nodes()[of].center - node.center);
    } else if (bodies.options.sources.has(store[Particles::kind][of])) {
      own.add_body(to, store, of, bodies.sources[of].position - node.center);
    }
  }
}

}  // namespace

void sum_children(NodeTable& table, std::uint32_t node) {
  table.columns().signs ? sum_parts<Signs::both>(table, node) : sum_parts<Signs::one>(table, node);
}

void sum_node(const TreeBodies& bodies, NodeTable& table, std::uint32_t index) {
  const Node& node = table.nodes()[index];
  if (node.kind() == NodeKind::leaf) {
    const std::span sources = bodies.sources.subspan(node.first, node.count());
    table.columns().signs ? sum_bodies<Signs::both>(sources, table, index)
                          : sum_bodies<Signs::one>(sources, table, index);
  } else {
    sum_children(table, index);
  }
  if (table.columns().reaches) {
    table.reaches()[index] = reach_of(bodies, table, node);
  }
  set_opening(bodies.options, table, index);
  if (table.columns().moment_bytes > 0) {
    sum_moment(bodies, table, index);
  }
}

void set_opening(const TreeOptions& options, NodeTable& table, std::uint32_t index) {
  Node& node = table.nodes()[index];
  const NodeExtent& extent = table.extents()[index];
  // The ratio of an octree cell to the tight box of its bodies, by which theta gives the errors known for cells: at
  // 0.5, with quadrupoles 4e-4 in a ring, which conserves its energy to 1e-8 over an orbit; with monopoles below 4.6e-3
  // in a homogeneous sphere.
  const double edge_factor = options.order == Order::monopole ? 1.21 : 1.15;
  // The expansion does not converge inside the sphere that contains the bodies, whatever theta is.
  const double radius = std::sqrt(distance2_max(extent.box, node.center));
  const bool scatters = options.near_reach && options.near_search != Search::gather;
  const double reach = radius + (scatters ? static_cast<double>(table.reaches()[index]) : options.near_radius);
  const double opening = std::max(edge_factor * extent.box.edge_max() / options.theta, reach);
  node.opening2 = next_above(static_cast<float>(opening * opening));
  node.radius = ShortFloat::at_least(next_above(static_cast<float>(radius)));
  const bool mixes = options.signs == ChargeSigns::apart && table.signs()[index].are_both(extent.mass);
  if (options.theta <= 0 || mixes) {
    node.opening2 = std::numeric_limits<float>::infinity();
  }
}

}  // namespace plait::particles::detail
