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
  for (const Source& source : sources) {
    sum.add_point(source.mass, source.position - node.center);
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
  for (std::size_t i = 0; i < children.size(); ++i) {
    box.include(extents[i].box);
    mass += extents[i].mass;
    weight += extents[i].weight;
    weighted += extents[i].weight * (children[i].center - origin);
  }
  node.center = weight > 0 ? origin + (1 / weight) * weighted : 0.5 * (box.low + box.high);
  MomentSum sum;
  for (std::size_t i = 0; i < children.size(); ++i) {
    sum.add(children[i]);
    sum.add_point(extents[i].mass, children[i].center - node.center);
  }
  node.mass = static_cast<float>(mass);
  sum.write_to(node);
  extent.box = box;
  extent.mass = mass;
  extent.weight = weight;
}

void set_boxes(std::span<const Source> sources, std::span<BodyGroup> groups, Batch& batch) {
  batch.box = {};
  for (BodyGroup& group : groups) {
    group.box = {};
    for (const Source& source : sources.subspan(group.first_body, group.body_count)) {
      group.box.include(source.position);
    }
    batch.box.include(group.box);
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
  const double reach = radius + options.near_radius;
  const double opening = std::max(edge_factor * extent.box.edge_max() / options.theta, reach);
  node.opening2 = std::nextafter(static_cast<float>(opening * opening), infinity);
  node.radius = ShortFloat::at_least(std::nextafter(static_cast<float>(radius), infinity));
  if (options.theta <= 0 || (options.signs == ChargeSigns::apart && extent.has_both_signs())) {
    node.opening2 = infinity;
  }
}

}  // namespace plait::particles::detail
