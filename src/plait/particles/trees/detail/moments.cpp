// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/detail/moments.hpp"

#include <algorithm>
#include <cmath>
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

/// `weighted` is the sum of mass times the offset from `origin`.
Vector center_of(const NodeExtent& extent, const Vector& origin, const Vector& weighted) {
  return extent.mass != 0 && !extent.has_both_signs ? origin + (1 / extent.mass) * weighted
                                                    : 0.5 * (extent.box.low + extent.box.high);
}

}  // namespace

void sum_bodies(std::span<const Source> sources, Node& node, NodeExtent& extent) {
  extent.box = {};
  extent.mass = 0;
  bool has_positive = false;
  bool has_negative = false;
  Vector weighted;
  const Vector origin = sources.front().position;  // near the centre: keeps the sums' rounding small
  for (const Source& source : sources) {
    extent.box.include(source.position);
    extent.mass += source.mass;
    has_positive |= source.mass > 0;
    has_negative |= source.mass < 0;
    weighted += source.mass * (source.position - origin);
  }
  extent.has_both_signs = has_positive && has_negative;
  node.center = center_of(extent, origin, weighted);
  MomentSum sum;
  for (const Source& source : sources) {
    sum.add_point(source.mass, source.position - node.center);
  }
  node.mass = static_cast<float>(extent.mass);
  sum.write_to(node);
}

void sum_children(std::span<const Node> children, std::span<const NodeExtent> extents, Node& node, NodeExtent& extent) {
  extent.box = {};
  extent.mass = 0;
  bool has_positive = false;
  bool has_negative = false;
  Vector weighted;
  const Vector origin = children.front().center;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const NodeExtent& child = extents[i];
    extent.box.include(child.box);
    extent.mass += child.mass;
    has_positive |= child.has_both_signs || child.mass > 0;
    has_negative |= child.has_both_signs || child.mass < 0;
    weighted += child.mass * (children[i].center - origin);
  }
  extent.has_both_signs = has_positive && has_negative;
  node.center = center_of(extent, origin, weighted);
  MomentSum sum;
  for (std::size_t i = 0; i < children.size(); ++i) {
    sum.add(children[i]);
    sum.add_point(extents[i].mass, children[i].center - node.center);
  }
  node.mass = static_cast<float>(extent.mass);
  sum.write_to(node);
}

void set_opening(const TreeOptions& options, const NodeExtent& extent, Node& node) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  // The ratio of an octree cell to the tight box of its bodies, by which theta gives the errors known for cells: at
  // 0.5, with quadrupoles 4e-4 in a ring, which conserves its energy to 1e-8 over an orbit; with monopoles below 4.6e-3
  // in a homogeneous sphere.
  const double edge_factor = options.order == Order::monopole ? 1.21 : 1.15;
  // The expansion does not converge inside the sphere that contains the bodies, whatever theta is.
  const double radius = std::sqrt(distance2_max(extent.box, node.center));
  const double reach = radius + options.near_radius;
  const double opening = std::max(edge_factor * extent.box.edge_max() / options.theta, reach);
  node.opening2 = std::nextafter(static_cast<float>(opening * opening), infinity);
  node.radius = ShortFloat::at_least(std::nextafter(static_cast<float>(radius), infinity));
  if (options.theta <= 0 || extent.has_both_signs) {
    node.opening2 = infinity;
  }
}

}  // namespace plait::particles::detail
