// SPDX-License-Identifier: Apache-2.0
#include "ring/forces.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "ring/detail/opening.hpp"

namespace ring {

struct ForceWorkspace::Lists {
  std::vector<std::uint32_t> stack;
  std::vector<std::uint32_t> cell_nodes;
  struct Range {
    std::uint32_t first;
    std::uint32_t count;
  };
  std::vector<Range> ranges;
  std::size_t range_bodies = 0;

  CellList cells;
  BodyList bodies;
  LineVector<double> x, y, z;                   // targets
  LineVector<float> x_near, y_near, z_near;     // relative to the group's origin
  std::vector<Pull> pulls;
  std::vector<std::uint32_t> near;
};

namespace {

using Lists = ForceWorkspace::Lists;
using SteadyClock = std::chrono::steady_clock;

/// Sorts the tree's nodes into cells that act as moments on everything in `box`, and bodies that act directly.
void walk(const TreeView& tree, const Box& box, Lists& lists, ForceSums& sums) {
  lists.cell_nodes.clear();
  lists.ranges.clear();
  lists.range_bodies = 0;
  lists.stack.clear();
  const double guard2 = detail::guard2(box);
  const Node* const nodes = tree.nodes.data();
  const auto visit = [&](std::uint32_t index) {
    const Node& node = nodes[index];
    const NodeKind kind = node.kind();
    const bool open = detail::opens(node, box, guard2);
    if (kind == NodeKind::leaf && (open || node.count() == 1)) {
      lists.ranges.push_back({node.first, node.count()});
      lists.range_bodies += node.count();
    } else if (kind == NodeKind::cell && open) {
      lists.stack.push_back(index);
    } else {
      lists.cell_nodes.push_back(index);
    }
  };
  for (std::uint32_t root = 0; root < tree.root_count; ++root) {
    visit(root);
  }
  sums.nodes_visited += tree.root_count;
  while (!lists.stack.empty()) {
    const Node& node = nodes[lists.stack.back()];
    lists.stack.pop_back();
    const std::uint32_t end = node.first + node.count();
    for (std::uint32_t child = node.first; child < end; ++child) {
      visit(child);
    }
    sums.nodes_visited += node.count();
  }
}

/// Copies what the walk found into the kernels' lists.
void gather(const TreeView& tree, const Vector& origin, Lists& lists) {
  lists.cells.resize(std::max(lists.cells.x.size(), lists.cell_nodes.size()));
  for (std::size_t i = 0; i < lists.cell_nodes.size(); ++i) {
    const Node& node = tree.nodes[lists.cell_nodes[i]];
    lists.cells.x[i] = static_cast<float>(node.center.x - origin.x);
    lists.cells.y[i] = static_cast<float>(node.center.y - origin.y);
    lists.cells.z[i] = static_cast<float>(node.center.z - origin.z);
    lists.cells.mass[i] = node.mass;
    lists.cells.xx[i] = node.quadrupole.xx;
    lists.cells.xy[i] = node.quadrupole.xy;
    lists.cells.xz[i] = node.quadrupole.xz;
    lists.cells.yy[i] = node.quadrupole.yy;
    lists.cells.yz[i] = node.quadrupole.yz;
  }
  lists.bodies.resize(std::max(lists.bodies.x.size(), lists.range_bodies));
  std::size_t i = 0;
  for (const Lists::Range& range : lists.ranges) {
    for (const Source& source : tree.sources.subspan(range.first, range.count)) {
      lists.bodies.x[i] = source.position.x;
      lists.bodies.y[i] = source.position.y;
      lists.bodies.z[i] = source.position.z;
      lists.bodies.mass[i] = source.mass;
      ++i;
    }
  }
}

void load_targets(std::span<const Body> bodies, const Vector& origin, Lists& lists) {
  const std::size_t n = bodies.size();
  if (lists.x.size() < n) {
    for (auto* values : {&lists.x, &lists.y, &lists.z}) {
      values->resize(n);
    }
    for (auto* values : {&lists.x_near, &lists.y_near, &lists.z_near}) {
      values->resize(n);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    const Vector& p = bodies[i].position;
    lists.x[i] = p.x;
    lists.y[i] = p.y;
    lists.z[i] = p.z;
    lists.x_near[i] = static_cast<float>(p.x - origin.x);
    lists.y_near[i] = static_cast<float>(p.y - origin.y);
    lists.z_near[i] = static_cast<float>(p.z - origin.z);
  }
  lists.pulls.assign(n, Pull{});
  lists.near.assign(n, 0);
}

/// The springs and dampers between target `i` and the bodies listed.
void add_contacts(const TreeView& tree,
                  const Targets& targets,
                  std::size_t i,
                  const ContactLaw& law,
                  const Lists& lists,
                  ForceSums& sums) {
  Body& body = targets.bodies[i];
  const double radius2 = law.radius * law.radius;
  for (const Lists::Range& range : lists.ranges) {
    for (std::uint32_t j = range.first; j < range.first + range.count; ++j) {
      const Source& other = tree.sources[j];
      const Vector offset = other.position - body.position;
      const double r2 = dot(offset, offset);
      if (r2 >= radius2 || r2 == 0) {  // at the same place there is no line to push along; the body itself
        continue;
      }
      const ContactForce force = contact_force(
          law, {offset, tree.velocities[j] - targets.velocities[i], body.mass, other.mass});
      body.acceleration += force.acceleration;
      body.potential += force.potential;
      sums.spring_energy += force.spring_energy;
      sums.dissipation_rate += force.dissipation_rate;
      ++sums.contacts;
    }
  }
}

}  // namespace

ForceOptions::ForceOptions(const Parameters& parameters)
    : order{parameters.order},
      softening{parameters.softening},
      contact{parameters.collision_radius > 0 ? ContactLaw{parameters} : ContactLaw{}} {}

ForceSums& ForceSums::operator+=(const ForceSums& other) {
  groups += other.groups;
  nodes_visited += other.nodes_visited;
  body_body += other.body_body;
  body_cell += other.body_cell;
  contacts += other.contacts;
  walk += other.walk;
  kernel += other.kernel;
  spring_energy += other.spring_energy;
  dissipation_rate += other.dissipation_rate;
  return *this;
}

ForceWorkspace::ForceWorkspace() : lists_{std::make_unique<Lists>()} {}
ForceWorkspace::ForceWorkspace(ForceWorkspace&&) noexcept = default;
ForceWorkspace& ForceWorkspace::operator=(ForceWorkspace&&) noexcept = default;
ForceWorkspace::~ForceWorkspace() = default;

void add_forces(const TreeView& tree,
                Origin origin,
                const Targets& targets,
                std::span<const Group> groups,
                const ForceOptions& options,
                ForceWorkspace& workspace,
                ForceSums& sums) {
  Lists& lists = workspace.lists();
  const Kernels& kernels = *options.kernels;
  const auto cell_kernel = options.order == Order::quadrupole ? kernels.quadrupoles : kernels.monopoles;
  const KernelOptions kernel_options{options.softening * options.softening,
                                     options.contact.radius * options.contact.radius};
  // What a body's own entry in the list adds to its potential, per mass.
  const double core = std::sqrt(kernel_options.softening2 + kernel_options.contact2);
  const double self = origin == Origin::own_tree && core > 0 ? 1 / core : 0;
  const std::uint32_t near_self = origin == Origin::own_tree ? 1 : 0;
  auto before = SteadyClock::now();
  for (const Group& group : groups) {
    const std::span<Body> bodies = targets.bodies.subspan(group.first_body, group.body_count);
    const Vector center = 0.5 * (group.box.low + group.box.high);
    walk(tree, group.box, lists, sums);
    gather(tree, center, lists);
    load_targets(bodies, center, lists);
    const BodySpan body_list = lists.bodies.pad(lists.range_bodies);
    const CellSpan cell_list = lists.cells.pad(lists.cell_nodes.size());
    const auto between = SteadyClock::now();
    kernels.bodies(lists.x.data(), lists.y.data(), lists.z.data(), bodies.size(), body_list,
                   kernel_options, lists.pulls.data(), lists.near.data());
    cell_kernel(lists.x_near.data(), lists.y_near.data(), lists.z_near.data(), bodies.size(), cell_list,
                kernel_options, lists.pulls.data());
    const std::size_t interactions = lists.range_bodies + lists.cell_nodes.size();
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const Pull& pull = lists.pulls[i];
      bodies[i].acceleration += Vector{pull.x, pull.y, pull.z};
      bodies[i].potential += pull.potential + self * bodies[i].mass;
      bodies[i].cost += static_cast<double>(interactions);
      if (lists.near[i] > near_self) {
        add_contacts(tree, targets, group.first_body + i, options.contact, lists, sums);
      }
    }
    sums.body_body += bodies.size() * lists.range_bodies;
    sums.body_cell += bodies.size() * lists.cell_nodes.size();
    const auto after = SteadyClock::now();
    sums.walk += between - before;
    sums.kernel += after - between;
    before = after;
  }
  sums.groups += groups.size();
}

void begin_forces(std::span<Body> bodies, double central_mass) {
  for (Body& body : bodies) {
    const double r2 = dot(body.position, body.position);
    body.acceleration = (-central_mass / (r2 * std::sqrt(r2))) * body.position;
    body.potential = 0;
    body.cost = 0;
  }
}

}  // namespace ring
