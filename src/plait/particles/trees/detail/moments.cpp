// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/detail/moments.hpp"

#include <algorithm>
#include <cmath>
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

}  // namespace

void sum_bodies(std::span<const Source> sources, Node& node, NodeExtent& extent) {
  Box box;
  double mass = 0;
  double weight = 0;
  Vector weighted;
  const Vector origin = sources.front().position;  // near the centre: keeps the sums' rounding small
  for (const Source& source : sources) {
    box.include(source.position);
    mass += source.mass;
    weight += std::abs(source.mass);
    weighted += std::abs(source.mass) * (source.position - origin);
  }
  node.center = weight > 0 ? origin + (1 / weight) * weighted : 0.5 * (box.low + box.high);
  MomentSum sum;
  const bool is_mixed = weight != std::abs(mass);  // about the centre, charges of one sign have no dipole
  extent.dipole = {};
  for (const Source& source : sources) {
    const Vector offset = source.position - node.center;
    sum.add_point(source.mass, offset);
    if (is_mixed) {
      extent.dipole += source.mass * offset;
    }
  }
  node.mass = static_cast<float>(mass);
  sum.write_to(node);
  extent.box = box;
  extent.mass = mass;
  extent.weight = weight;
}

void sum_children(std::span<const Node> children, std::span<const NodeExtent> extents, Node& node, NodeExtent& extent) {
  Box box;
  double mass = 0;
  double weight = 0;
  Vector weighted;
  const Vector origin = children.front().center;
  extent.reach = 0;
  for (std::size_t i = 0; i < children.size(); ++i) {
    box.include(extents[i].box);
    extent.reach = std::max(extent.reach, extents[i].reach);
    mass += extents[i].mass;
    weight += extents[i].weight;
    weighted += extents[i].weight * (children[i].center - origin);
  }
  node.center = weight > 0 ? origin + (1 / weight) * weighted : 0.5 * (box.low + box.high);
  MomentSum sum;
  const bool is_mixed = weight != std::abs(mass);  // about the centre, charges of one sign have no dipole
  extent.dipole = {};
  for (std::size_t i = 0; i < children.size(); ++i) {
    const Vector offset = children[i].center - node.center;
    sum.add(children[i]);
    sum.add_point(extents[i].mass, offset);
    if (is_mixed) {
      sum.add_dipole(extents[i].dipole, offset);
      extent.dipole += extents[i].dipole + extents[i].mass * offset;
    }
  }
  node.mass = static_cast<float>(mass);
  sum.write_to(node);
  extent.box = box;
  extent.mass = mass;
  extent.weight = weight;
}

void sum_moment(const TreeOptions& options,
                const Particles& store,
                const NodesOf& part,
                std::size_t i,
                std::span<std::byte> moments) {
  const std::size_t bytes = moment_bytes(options);
  if (bytes == 0) {
    return;
  }
  std::byte* const to = moments.data() + i * bytes;
  const CellMoments& own = options.moments;
  if (own.bytes == 0) {
    const Vector& sum = part.extents[i].dipole;
    const Dipole dipole{static_cast<float>(sum.x), static_cast<float>(sum.y), static_cast<float>(sum.z)};
    std::memcpy(to, &dipole, sizeof dipole);
    return;
  }
  const Node& node = part.nodes[i];
  std::memcpy(to, own.none.data(), bytes);
  for (std::uint32_t of = node.first; of < node.first + node.count(); ++of) {
    if (node.kind() == NodeKind::cell) {
      own.add_child(to, moments.data() + of * bytes, part.nodes[of].center - node.center);
    } else if (options.sources.has(store[Particles::kind][of])) {
      own.add_body(to, store, of, store.positions()[of] - node.center);
    }
  }
}

void set_opening(const TreeOptions& options, const NodeExtent& extent, Node& node) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  // The ratio of an octree cell to the tight box of its bodies, by which theta gives the errors known for cells: at
  // 0.5, with quadrupoles 4e-4 in a ring, which conserves its energy to 1e-8 over an orbit; with monopoles below 4.6e-3
  // in a homogeneous sphere.
  const double edge_factor = options.order == Order::monopole ? 1.21 : 1.15;
  // The expansion does not converge inside the sphere that contains the bodies, whatever theta is.
  const double radius = std::sqrt(distance2_max(extent.box, node.center));
  const bool scatters = options.near_reach && options.near_search != Search::gather;
  const double reach = radius + (scatters ? static_cast<double>(extent.reach) : options.near_radius);
  const double opening = std::max(edge_factor * extent.box.edge_max() / options.theta, reach);
  node.opening2 = std::nextafter(static_cast<float>(opening * opening), infinity);
  node.radius = ShortFloat::at_least(std::nextafter(static_cast<float>(radius), infinity));
  if (options.theta <= 0 || (options.signs == ChargeSigns::apart && extent.has_both_signs())) {
    node.opening2 = infinity;
  }
}

}  // namespace plait::particles::detail
