// SPDX-License-Identifier: Apache-2.0
#include "ring/forces.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

#include "ring/detail/opening.hpp"

namespace ring {

/// The lists are those of a batch, followed by those of one of its groups.
struct ForceWorkspace::Lists {
  struct Range {
    std::uint32_t first;
    std::uint32_t count;
  };
  std::vector<std::uint32_t> stack;
  std::vector<std::uint32_t> frontier;    // nodes that each group of the batch must judge for itself
  std::vector<std::uint32_t> cell_nodes;  // the first `found` were found by a walk and are not yet gathered
  std::size_t found = 0;
  std::vector<Range> ranges;  // the first `range_count`
  std::size_t range_count = 0;
  std::size_t cell_count = 0;
  std::size_t body_count = 0;

  CellList cells;
  BodyList bodies;
  std::vector<std::uint32_t> indices;        // of the sources in `bodies`; with contacts only
  LineVector<double> x, y, z;                // targets
  LineVector<float> x_near, y_near, z_near;  // relative to the batch's origin
  std::vector<Pull> pulls;
  std::vector<std::uint32_t> near;
};

namespace {

using Lists = ForceWorkspace::Lists;
using SteadyClock = std::chrono::steady_clock;

/// Sorts the tree's nodes into cells that act as moments on everything in the batch, bodies that act directly on all of
/// it, and the frontier. Each group finds from there what it would have found from the root.
void walk_batch(const TreeView& tree, const Box& box, Lists& lists, ForceSums& sums) {
  lists.stack.clear();
  lists.frontier.clear();
  lists.cell_nodes.clear();
  lists.ranges.clear();
  const double guard2 = detail::guard2(box);
  const Node* const nodes = tree.nodes.data();
  const auto visit = [&](std::uint32_t index) {
    const Node& node = nodes[index];
    const NodeKind kind = node.kind();
    if (kind == NodeKind::leaf && node.count() == 1) {
      lists.ranges.push_back({node.first, 1});
    } else if (kind == NodeKind::sealed || !detail::opens(node, box, guard2)) {
      lists.cell_nodes.push_back(index);
    } else if (!detail::opens_everywhere(node, box)) {
      lists.frontier.push_back(index);
    } else if (kind == NodeKind::leaf) {
      lists.ranges.push_back({node.first, node.count()});
    } else {
      lists.stack.push_back(index);
    }
  };
  for (std::uint32_t root = 0; root < tree.root_count; ++root) {
    visit(root);
  }
  while (!lists.stack.empty()) {
    const Node& node = nodes[lists.stack.back()];
    lists.stack.pop_back();
    const std::uint32_t end = node.first + node.count();
    for (std::uint32_t child = node.first; child < end; ++child) {
      visit(child);
    }
    sums.nodes_visited += node.count();
  }
  lists.found = lists.cell_nodes.size();
  lists.range_count = lists.ranges.size();
}

/// A stack-like array that takes an entry without a branch: it is written always and kept if wanted.
template <class T>
class Appender {
 public:
  explicit Appender(std::vector<T>& to, std::size_t begin) : to_{to}, size_{begin} {}
  void make_room(std::size_t more) {
    if (size_ + more > to_.size()) {
      to_.resize(2 * (size_ + more));
    }
  }
  void add_if(bool wanted, const T& value) {
    to_[size_] = value;
    size_ += wanted ? 1 : 0;
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  T pop() { return to_[--size_]; }

 private:
  std::vector<T>& to_;
  std::size_t size_;
};

/// From the frontier, the cells and bodies for one group. No branch on what a node turns out to be: it is hard to
/// predict, and there are some hundred nodes for each group.
void walk_group(const TreeView& tree, const Box& box, double guard2, Lists& lists, ForceSums& sums) {
  Appender stack{lists.stack, 0};
  Appender cells{lists.cell_nodes, 0};
  Appender ranges{lists.ranges, lists.range_count};
  const Node* const nodes = tree.nodes.data();
  const auto make_room = [&](std::size_t more) {
    stack.make_room(more);
    cells.make_room(more);
    ranges.make_room(more);
  };
  const auto visit = [&](std::uint32_t index) {
    const Node& node = nodes[index];
    const bool open = detail::opens(node, box, guard2);
    const bool leaf = node.kind() == NodeKind::leaf;
    const bool direct = leaf & (open | (node.count() == 1));
    const bool divide = (node.kind() == NodeKind::cell) & open;
    ranges.add_if(direct, {node.first, node.count()});
    stack.add_if(divide, index);
    cells.add_if(!(direct | divide), index);
  };
  make_room(lists.frontier.size());
  for (const std::uint32_t index : lists.frontier) {
    visit(index);
  }
  sums.nodes_visited += lists.frontier.size();
  while (stack.size() > 0) {
    const Node& node = nodes[stack.pop()];
    const std::uint32_t end = node.first + node.count();
    make_room(node.count());
    for (std::uint32_t child = node.first; child < end; ++child) {
      visit(child);
    }
    sums.nodes_visited += node.count();
  }
  lists.found = cells.size();
  lists.range_count = ranges.size();
}

/// Appends the cells that a walk found to the kernels' list.
void gather_cells(const TreeView& tree, const Vector& origin, Lists& lists) {
  const std::size_t begin = lists.cell_count;
  const std::size_t end = begin + lists.found;
  lists.cells.reserve(end);
  CellList& to = lists.cells;
  for (std::size_t i = begin; i < end; ++i) {
    const Node& node = tree.nodes[lists.cell_nodes[i - begin]];
    to.x[i] = static_cast<float>(node.center.x - origin.x);
    to.y[i] = static_cast<float>(node.center.y - origin.y);
    to.z[i] = static_cast<float>(node.center.z - origin.z);
    to.mass[i] = node.mass;
    to.xx[i] = node.quadrupole.xx;
    to.xy[i] = node.quadrupole.xy;
    to.xz[i] = node.quadrupole.xz;
    to.yy[i] = node.quadrupole.yy;
    to.yz[i] = node.quadrupole.yz;
  }
  lists.cell_count = end;
}

/// Appends the bodies of the ranges from `first_range` on.
void gather_bodies(const TreeView& tree, std::size_t first_range, Lists& lists) {
  const std::span ranges = std::span{lists.ranges}.subspan(first_range, lists.range_count - first_range);
  std::size_t count = lists.body_count;
  for (const Lists::Range& range : ranges) {
    count += range.count;
  }
  lists.bodies.reserve(count);
  BodyList& to = lists.bodies;
  std::size_t i = lists.body_count;
  for (const Lists::Range& range : ranges) {
    for (const Source& source : tree.sources.subspan(range.first, range.count)) {
      to.x[i] = source.position.x;
      to.y[i] = source.position.y;
      to.z[i] = source.position.z;
      to.mass[i] = source.mass;
      ++i;
    }
  }
  if (!tree.velocities.empty()) {
    lists.indices.resize(count);
    std::uint32_t* to_index = lists.indices.data() + lists.body_count;
    for (const Lists::Range& range : ranges) {
      std::iota(to_index, to_index + range.count, range.first);
      to_index += range.count;
    }
  }
  lists.body_count = count;
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

/// Adds the spring and damper between target `i` and source `j`, if they touch.
void add_contact(const TreeView& tree,
                 const Targets& targets,
                 std::size_t i,
                 std::uint32_t j,
                 const ContactLaw& law,
                 ForceSums& sums) {
  Body& body = targets.bodies[i];
  const Source& other = tree.sources[j];
  const Vector offset = other.position - body.position;
  const double r2 = dot(offset, offset);
  if (r2 >= law.radius * law.radius || r2 == 0) {  // at the same place there is no line to push along; the body itself
    return;
  }
  const Vector velocity = tree.velocities[j] - targets.velocities[i];
  const ContactForce force = contact_force(law, {offset, velocity, body.mass, other.mass});
  body.acceleration += force.acceleration;
  body.potential += force.potential;
  sums.spring_energy += force.spring_energy;
  sums.dissipation_rate += force.dissipation_rate;
  ++sums.contacts;
}

/// The contacts of target `i` with the bodies listed. Looks at a block of the list at a time, most of which are far.
void add_contacts(const TreeView& tree,
                  const Targets& targets,
                  std::size_t i,
                  const ContactLaw& law,
                  const Lists& lists,
                  ForceSums& sums) {
  const Vector at = targets.bodies[i].position;
  const double radius2 = law.radius * law.radius;
  for (std::size_t begin = 0; begin < lists.body_count; begin += list_padding) {
    std::array<double, list_padding> r2;
    for (std::size_t k = 0; k < list_padding; ++k) {
      const double dx = lists.bodies.x[begin + k] - at.x;
      const double dy = lists.bodies.y[begin + k] - at.y;
      const double dz = lists.bodies.z[begin + k] - at.z;
      r2[k] = dx * dx + dy * dy + dz * dz;
    }
    std::uint32_t near = 0;
    for (std::size_t k = 0; k < list_padding; ++k) {
      near |= static_cast<std::uint32_t>(r2[k] < radius2) << k;
    }
    for (; near != 0; near &= near - 1) {
      const std::size_t j = begin + static_cast<std::size_t>(std::countr_zero(near));
      if (j < lists.body_count) {
        add_contact(tree, targets, i, lists.indices[j], law, sums);
      }
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

namespace {

/// What stays the same for all batches.
struct Job {
  const TreeView& tree;
  const Targets& targets;
  const ForceOptions& options;
  KernelOptions kernel_options;
  double self_potential = 0;    ///< What a body's own entry in the list takes from its potential, per mass.
  std::uint32_t near_self = 0;  ///< How often a body meets itself.
};

/// Runs the kernels over the lists, for the targets of one group.
void act(const Job& job, const Group& group, Lists& lists, ForceSums& sums) {
  const std::span<Body> bodies = job.targets.bodies.subspan(group.first_body, group.body_count);
  const Kernels& kernels = *job.options.kernels;
  const auto cell_kernel = job.options.order == Order::quadrupole ? kernels.quadrupoles : kernels.monopoles;
  kernels.bodies(lists.x.data(),
                 lists.y.data(),
                 lists.z.data(),
                 bodies.size(),
                 lists.bodies.pad(lists.body_count),
                 job.kernel_options,
                 lists.pulls.data(),
                 lists.near.data());
  cell_kernel(lists.x_near.data(),
              lists.y_near.data(),
              lists.z_near.data(),
              bodies.size(),
              lists.cells.pad(lists.cell_count),
              job.kernel_options,
              lists.pulls.data());
  const std::size_t interactions = lists.body_count + lists.cell_count;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const Pull& pull = lists.pulls[i];
    bodies[i].acceleration += Vector{pull.x, pull.y, pull.z};
    bodies[i].potential += pull.potential + job.self_potential * bodies[i].mass;
    bodies[i].cost += static_cast<double>(interactions);
    if (lists.near[i] > job.near_self) {
      add_contacts(job.tree, job.targets, group.first_body + i, job.options.contact, lists, sums);
    }
  }
  sums.body_body += bodies.size() * lists.body_count;
  sums.body_cell += bodies.size() * lists.cell_count;
}

}  // namespace

void add_forces(const TreeView& tree,
                Origin origin,
                const Targets& targets,
                std::span<const Batch> batches,
                const ForceOptions& options,
                ForceWorkspace& workspace,
                ForceSums& sums) {
  Lists& lists = workspace.lists();
  Job job{tree, targets, options, {options.softening * options.softening, 0}};
  job.kernel_options.contact2 = options.contact.radius * options.contact.radius;
  const double core = std::sqrt(job.kernel_options.softening2 + job.kernel_options.contact2);
  if (origin == Origin::own_tree) {
    job.self_potential = core > 0 ? 1 / core : 0;
    job.near_self = 1;
  }
  auto before = SteadyClock::now();
  for (const Batch& batch : batches) {
    const Vector center = 0.5 * (batch.box.low + batch.box.high);
    lists.cell_count = lists.body_count = 0;
    walk_batch(tree, batch.box, lists, sums);
    gather_cells(tree, center, lists);
    gather_bodies(tree, 0, lists);
    const double guard2 = detail::guard2(batch.box);
    const std::size_t shared_cells = lists.cell_count;
    const std::size_t shared_bodies = lists.body_count;
    const std::size_t shared_ranges = lists.range_count;
    for (const Group& group : targets.groups.subspan(batch.first_group, batch.group_count)) {
      lists.cell_count = shared_cells;
      lists.body_count = shared_bodies;
      lists.range_count = shared_ranges;
      walk_group(tree, group.box, guard2, lists, sums);
      gather_cells(tree, center, lists);
      gather_bodies(tree, shared_ranges, lists);
      load_targets(targets.bodies.subspan(group.first_body, group.body_count), center, lists);
      const auto between = SteadyClock::now();
      act(job, group, lists, sums);
      const auto after = SteadyClock::now();
      sums.walk += between - before;
      sums.kernel += after - between;
      before = after;
    }
    sums.groups += batch.group_count;
  }
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
