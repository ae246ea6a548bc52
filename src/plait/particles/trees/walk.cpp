// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/walk.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "plait/particles/store/detail/add_cost.hpp"
#include "plait/particles/trees/detail/opening.hpp"

namespace plait::particles {

/// The interaction lists of one thread: those of a batch, followed by those of one of its groups.
struct WalkSpace::Buffers {
  std::vector<std::uint32_t> stack;
  std::vector<std::uint32_t> frontier;    ///< The nodes that each group of the batch must test.
  std::vector<std::uint32_t> cell_nodes;  ///< The first `found` were found by a walk and are not yet gathered.
  std::size_t found = 0;
  std::vector<WalkLists::Range> ranges;  ///< The first `range_count` are valid.
  std::size_t range_count = 0;
  std::size_t cell_count = 0;
  std::size_t body_count = 0;

  CellList cells;
  CellList near_bodies;  ///< The bodies, in mixed precision.
  BodyList bodies;
  std::vector<std::uint32_t> indices;    ///< Of the bodies in the sources' tree, if the program may need them.
  std::vector<float> reaches;            ///< Of the same bodies, if each has its own.
  LineVector<std::byte> moments;         ///< The program's, by cell.
  std::vector<Particles::Index> places;  ///< Of the targets.
  std::vector<Box> target_boxes;         ///< By group of the batch; empty boxes have no targets.
  LineVector<double> x, y, z;
  LineVector<float> x_near, y_near, z_near;  ///< Relative to the batch's origin.
  std::vector<Pull> pulls;
  std::vector<std::uint32_t> near;
  std::vector<std::uint32_t> near_sources;
};

namespace {

using Lists = WalkSpace::Buffers;
using SteadyClock = std::chrono::steady_clock;

/// The constants of a walk.
struct Job {
  const TreeView& tree;
  const Targets& targets;
  const WalkOptions& options;
  Order order;
  KernelOptions kernel_options;
  detail::Bounds bounds;
  WalkLists* lists = nullptr;
  bool is_mixed = false;
  bool has_dipoles = false;
  bool wants_indices = false;
  std::size_t moment_bytes = 0;  ///< Of the program's moments.
  bool uses_target_reach = false;
  const float* reaches = nullptr;  ///< Of sources, if these make pairs near.
  double self_potential = 0;       ///< The correction for a body's own entry in the list, per charge.
  std::uint32_t near_self = 0;     ///< How often a body is in its own list.
};

/// Finds the cells that act as multipoles on the whole batch, the bodies that act directly on all of it, and the
/// frontier, from which the walks of groups start.
template <bool bounded>
void walk_batch(const Job& job, const Box& box, double guard2, Lists& lists, WalkSums& sums) {
  lists.stack.clear();
  lists.frontier.clear();
  lists.cell_nodes.clear();
  lists.ranges.clear();
  const TreeView& tree = job.tree;
  const Node* const nodes = tree.nodes.data();
  const auto visit = [&](std::uint32_t index) {
    const Node& node = nodes[index];
    const NodeKind kind = node.kind();
    const Vector center = bounded ? job.bounds.images.nearest(node.center, box) : node.center;
    if (bounded && detail::is_beyond(node, center, box, job.bounds.cutoff)) {
      return;
    }
    if (kind == NodeKind::leaf && node.count() == 1) {
      lists.ranges.push_back({node.first, 1});
    } else if (kind == NodeKind::sealed || !detail::opens(node, center, box, guard2)) {
      lists.cell_nodes.push_back(index);
    } else if (!detail::opens_everywhere(node, center, box)) {
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

/// Appends to an array without a branch: writes each entry, and keeps it if wanted.
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

/// Finds the cells and bodies that act on one group. Does not branch on the kind of interaction, which is hard to
/// predict: a group tests some hundred nodes.
template <bool bounded>
void walk_group(const Job& job, const Box& box, double guard2, Lists& lists, WalkSums& sums) {
  const TreeView& tree = job.tree;
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
    const Vector center = bounded ? job.bounds.images.nearest(node.center, box) : node.center;
    const bool acts = !bounded || !detail::is_beyond(node, center, box, job.bounds.cutoff);
    const bool open = detail::opens(node, center, box, guard2);
    const bool leaf = node.kind() == NodeKind::leaf;
    const bool direct = acts & leaf & (open | (node.count() == 1));
    const bool divide = acts & (node.kind() == NodeKind::cell) & open;
    ranges.add_if(direct, {node.first, node.count()});
    stack.add_if(divide, index);
    cells.add_if(acts & !(direct | divide), index);
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

/// Appends the cells that a walk found to the list of the kernels.
void gather_cells(const Job& job, const Vector& origin, Lists& lists) {
  const std::size_t begin = lists.cell_count;
  const std::size_t end = begin + lists.found;
  lists.cells.reserve(end);
  CellList& to = lists.cells;
  for (std::size_t i = begin; i < end; ++i) {
    const Node& node = job.tree.nodes[lists.cell_nodes[i - begin]];
    const Vector center = job.bounds.images.nearest(node.center, origin);
    to.x[i] = static_cast<float>(center.x - origin.x);
    to.y[i] = static_cast<float>(center.y - origin.y);
    to.z[i] = static_cast<float>(center.z - origin.z);
    to.mass[i] = node.mass;
    if (job.order == Order::quadrupole) {
      to.xx[i] = node.quadrupole.xx;
      to.xy[i] = node.quadrupole.xy;
      to.xz[i] = node.quadrupole.xz;
      to.yy[i] = node.quadrupole.yy;
      to.yz[i] = node.quadrupole.yz;
      if (job.options.kernel) {
        to.trace[i] = node.second_moment.value();
      }
    }
  }
  const std::byte* const moments = job.tree.moments.data();
  if (job.has_dipoles) {
    for (std::size_t i = begin; i < end; ++i) {
      Dipole dipole;
      std::memcpy(&dipole, moments + lists.cell_nodes[i - begin] * sizeof dipole, sizeof dipole);
      to.px[i] = dipole.x;
      to.py[i] = dipole.y;
      to.pz[i] = dipole.z;
    }
  } else if (const std::size_t bytes = job.moment_bytes; bytes > 0) {
    lists.moments.resize(end * bytes);
    for (std::size_t i = begin; i < end; ++i) {
      std::memcpy(lists.moments.data() + i * bytes, moments + lists.cell_nodes[i - begin] * bytes, bytes);
    }
  }
  lists.cell_count = end;
}

/// Calls `put(source, place)` for each body of the ranges from `first_range` on, after making room in `to`.
template <class List, class Put>
void gather_sources(const TreeView& tree, std::size_t first_range, Lists& lists, List& to, Put put) {
  const std::span ranges = std::span{lists.ranges}.subspan(first_range, lists.range_count - first_range);
  std::size_t count = lists.body_count;
  for (const WalkLists::Range& range : ranges) {
    count += range.count;
  }
  to.reserve(count);
  std::size_t i = lists.body_count;
  for (const WalkLists::Range& range : ranges) {
    for (const Source& source : tree.sources.subspan(range.first, range.count)) {
      put(source, i++);
    }
  }
  lists.body_count = count;
}

/// Appends bodies in single precision, relative to `origin`.
void gather_near_bodies(const Job& job, const Vector& origin, std::size_t first_range, Lists& lists) {
  CellList& to = lists.near_bodies;
  gather_sources(job.tree, first_range, lists, to, [&](const Source& source, std::size_t i) {
    const Vector position = job.bounds.images.nearest(source.position, origin);
    to.x[i] = static_cast<float>(position.x - origin.x);
    to.y[i] = static_cast<float>(position.y - origin.y);
    to.z[i] = static_cast<float>(position.z - origin.z);
    to.mass[i] = static_cast<float>(source.mass);
  });
}

void gather_bodies(const TreeView& tree, std::size_t first_range, Lists& lists) {
  BodyList& to = lists.bodies;
  gather_sources(tree, first_range, lists, to, [&](const Source& source, std::size_t i) {
    to.x[i] = source.position.x;
    to.y[i] = source.position.y;
    to.z[i] = source.position.z;
    to.mass[i] = source.mass;
  });
}

/// Appends the indices of the bodies from entry `begin` on, which were gathered.
void gather_indices(const Job& job, std::size_t first_range, std::size_t begin, Lists& lists) {
  lists.indices.resize(lists.body_count);
  std::uint32_t* to = lists.indices.data() + begin;
  for (std::size_t number = first_range; number < lists.range_count; ++number) {
    const WalkLists::Range& range = lists.ranges[number];
    std::iota(to, to + range.count, range.first);
    to += range.count;
  }
  lists.reaches.resize((lists.body_count + list_padding - 1) / list_padding * list_padding);
  if (job.reaches != nullptr) {
    for (std::size_t i = begin; i < lists.body_count; ++i) {
      lists.reaches[i] = job.reaches[lists.indices[i]];
    }
  }
}

/// Calls `use` with the place of each target among the particles of a group.
template <class Use>
void for_each_target(const Targets& targets, const BodyGroup& group, Use use) {
  const Particles& store = targets.store;
  const auto kinds = store[Particles::kind];
  const std::uint8_t* const bins = targets.bins ? store[targets.bins->bin].data() : nullptr;
  for (Particles::Index place = group.first_body; place < group.first_body + group.body_count; ++place) {
    if (targets.kinds.has(kinds[place]) && (bins == nullptr || bins[place] <= targets.bins->longest)) {
      use(place);
    }
  }
}

/// Loads the targets among the particles of a group.
void load_targets(const Targets& targets, const BodyGroup& group, const Vector& origin, Lists& lists) {
  lists.places.clear();
  for_each_target(targets, group, [&](Particles::Index place) { lists.places.push_back(place); });
  const std::size_t n = lists.places.size();
  if (lists.x.size() < n) {
    for (auto* values : {&lists.x, &lists.y, &lists.z}) {
      values->resize(n);
    }
    for (auto* values : {&lists.x_near, &lists.y_near, &lists.z_near}) {
      values->resize(n);
    }
  }
  const auto positions = std::as_const(targets.store).positions();
  for (std::size_t i = 0; i < n; ++i) {
    const Vector& p = positions[lists.places[i]];
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

/// Passes the sources near target `i` to the program. Tests a block of the list at a time, as few are near.
void find_near(const Job& job, std::size_t i, Lists& lists, WalkSpace& space) {
  const Particles::Index target = lists.places[i];
  const TreeOptions& options = job.targets.tree.options();
  const double radius = job.uses_target_reach
                            ? static_cast<double>(std::as_const(job.targets.store)[*options.near_reach][target])
                            : options.near_radius;
  lists.near_sources.clear();
  for (std::size_t begin = 0; begin < lists.body_count; begin += list_padding) {
    std::array<double, list_padding> r2;
    for (std::size_t k = 0; k < list_padding; ++k) {
      const Vector d = job.bounds.images.nearest({lists.bodies.x[begin + k] - lists.x[i],
                                                  lists.bodies.y[begin + k] - lists.y[i],
                                                  lists.bodies.z[begin + k] - lists.z[i]},
                                                 Vector{});
      r2[k] = dot(d, d);
    }
    std::uint32_t near = 0;
    for (std::size_t k = 0; k < list_padding; ++k) {
      const double limit =
          job.reaches != nullptr ? std::max(radius, static_cast<double>(lists.reaches[begin + k])) : radius;
      near |= static_cast<std::uint32_t>(r2[k] < limit * limit) << k;
    }
    for (; near != 0; near &= near - 1) {
      const std::size_t j = begin + static_cast<std::size_t>(std::countr_zero(near));
      if (j < lists.body_count && (job.near_self == 0 || lists.indices[j] != target)) {
        lists.near_sources.push_back(lists.indices[j]);
      }
    }
  }
  if (!lists.near_sources.empty()) {
    job.options.near({target, lists.near_sources, job.tree, space.near_sums, {options.period, options.slide}});
  }
}

/// Runs the kernels over the lists, for the targets of one group.
void act(const Job& job, Lists& lists, WalkSpace& space) {
  const std::size_t n = lists.places.size();
  const TargetSpan targets{lists.x.data(),
                           lists.y.data(),
                           lists.z.data(),
                           lists.x_near.data(),
                           lists.y_near.data(),
                           lists.z_near.data(),
                           n,
                           lists.pulls.data()};
  const BodySpan bodies = job.is_mixed ? BodySpan{} : lists.bodies.pad(lists.body_count);
  const CellSpan near_bodies = job.is_mixed ? lists.near_bodies.pad(lists.body_count) : CellSpan{};
  const CellSpan cells = lists.cells.pad(lists.cell_count);
  if (job.options.kernel) {
    KernelWork work{targets, bodies, near_bodies, cells, job.kernel_options, {}, {}, job.tree.columns};
    work.moments = std::span{lists.moments}.first(lists.cell_count * job.moment_bytes);
    work.indices = std::span{lists.indices}.first(job.wants_indices ? lists.body_count : 0);
    job.options.kernel(work);
  } else {
    const Kernels& kernels = *job.options.kernels;
    if (job.is_mixed) {
      kernels.near_bodies(targets, near_bodies, job.kernel_options);
    } else {
      kernels.bodies(targets, bodies, job.kernel_options, lists.near.data());
    }
    (job.order == Order::quadrupole ? kernels.quadrupoles : kernels.monopoles)(targets, cells, job.kernel_options);
    if (job.has_dipoles) {
      kernels.dipoles(targets, cells, job.kernel_options);
    }
  }
  if (job.options.near && (job.options.kernel || job.targets.tree.options().near_reach)) {
    std::ranges::fill(lists.near, job.near_self + 1);  // uncounted: test all
  }
  Particles& store = job.targets.store;
  const auto accelerations = store[job.targets.acceleration];
  const auto potentials = store[job.targets.potential];
  const auto costs = store[Particles::cost];
  const auto sources = job.targets.tree.sources();
  const auto interactions = static_cast<float>(lists.body_count + lists.cell_count);
  for (std::size_t i = 0; i < n; ++i) {
    const Pull& pull = lists.pulls[i];
    const Particles::Index place = lists.places[i];
    accelerations[place] += job.options.coupling * Vector{pull.x, pull.y, pull.z};
    potentials[place] += job.options.coupling * (pull.potential + job.self_potential * sources[place].mass);
    detail::add_cost(costs[place], interactions);
    if (lists.near[i] > job.near_self && job.options.near) {
      find_near(job, i, lists, space);
    }
  }
  space.sums.body_body += n * lists.body_count;
  space.sums.body_cell += n * lists.cell_count;
}

Job job_of(const Sources& sources, const Targets& targets, const WalkOptions& options) {
  const TreeOptions& tree = targets.tree.options();
  Job job{.tree = sources.view,
          .targets = targets,
          .options = options,
          .order = tree.order,
          .bounds = detail::Bounds{tree},
          .lists = sources.lists};
  job.kernel_options.softening2 = options.softening * options.softening;
  job.kernel_options.contact2 = tree.near_radius * tree.near_radius;
  job.kernel_options.cutoff2 = job.bounds.cutoff * job.bounds.cutoff;
  job.kernel_options.period = tree.period;
  job.kernel_options.displacement = tree.slide.displacement;
  const double core = std::sqrt(job.kernel_options.softening2 + job.kernel_options.contact2);
  if (sources.origin == Origin::own_tree) {
    job.self_potential = core > 0 && !options.kernel ? 1 / core : 0;
    job.near_self = 1;
  }
  job.moment_bytes = options.kernel ? tree.moments.bytes : 0;
  job.has_dipoles = tree.signs == ChargeSigns::both && tree.moments.bytes == 0 && !options.kernel;
  job.wants_indices = options.near != nullptr || (options.kernel && !tree.travels.empty());
  if (tree.near_reach) {
    job.uses_target_reach = tree.near_search != Search::scatter;
    if (tree.near_search != Search::gather && !sources.view.columns.empty()) {
      job.reaches = reinterpret_cast<const float*>(sources.view.columns.back());
    }
  }
  job.is_mixed = options.precision == Precision::mixed && tree.near_radius == 0 && !tree.near_reach;
  return job;
}

/// Appends the result of a walk to the lists of its batch.
void record(const Lists& lists, std::size_t first_range, WalkLists::OfBatch& kept) {
  kept.cells.insert(
      kept.cells.end(), lists.cell_nodes.begin(), lists.cell_nodes.begin() + static_cast<std::ptrdiff_t>(lists.found));
  kept.ranges.insert(kept.ranges.end(),
                     lists.ranges.begin() + static_cast<std::ptrdiff_t>(first_range),
                     lists.ranges.begin() + static_cast<std::ptrdiff_t>(lists.range_count));
  kept.ends.push_back({kept.cells.size(), kept.ranges.size()});
}

/// Restores a part of the lists of a batch, as if a walk had found it.
void reuse(const WalkLists::OfBatch& kept, std::size_t part, std::size_t first_range, Lists& lists) {
  const WalkLists::OfBatch::End begin = part == 0 ? WalkLists::OfBatch::End{} : kept.ends[part - 1];
  const WalkLists::OfBatch::End end = kept.ends[part];
  lists.found = end.cell - begin.cell;
  lists.range_count = first_range + end.range - begin.range;
  lists.cell_nodes.resize(std::max(lists.cell_nodes.size(), lists.found));
  lists.ranges.resize(std::max(lists.ranges.size(), lists.range_count));
  std::copy_n(kept.cells.begin() + static_cast<std::ptrdiff_t>(begin.cell), lists.found, lists.cell_nodes.begin());
  std::copy_n(kept.ranges.begin() + static_cast<std::ptrdiff_t>(begin.range),
              end.range - begin.range,
              lists.ranges.begin() + static_cast<std::ptrdiff_t>(first_range));
}

/// Finds the box of the targets in each group of a batch; returns the box of all. Where all particles are targets, or
/// lists are recorded for later targets, these are the boxes of the tree.
Box find_target_boxes(const Job& job, const Batch& batch, Lists& lists) {
  lists.target_boxes.clear();
  const std::span<const BodyGroup> groups = job.targets.tree.groups().subspan(batch.first_group, batch.group_count);
  if (job.targets.are_all() || job.lists != nullptr) {
    for (const BodyGroup& group : groups) {
      lists.target_boxes.push_back(group.box);
    }
    return batch.box;
  }
  const Particles& store = job.targets.store;
  const TreeOptions& options = job.targets.tree.options();
  const std::span<const float> reaches = options.near_reach ? store[*options.near_reach] : std::span<const float>{};
  Box all;
  for (const BodyGroup& group : groups) {
    Box box;
    float reach = 0;
    for_each_target(job.targets, group, [&](Particles::Index place) {
      box.include(store.positions()[place]);
      reach = reaches.empty() ? 0 : std::max(reach, reaches[place]);
    });
    all.include(lists.target_boxes.emplace_back(box.is_empty() ? box : target_box(box, reach, options)));
  }
  return all;
}

/// Gathers what a walk has found, from `first_range` on.
void gather(const Job& job, const Vector& center, std::size_t first_range, Lists& lists) {
  const std::size_t first_body = lists.body_count;
  gather_cells(job, center, lists);
  if (job.is_mixed) {
    gather_near_bodies(job, center, first_range, lists);
  } else {
    gather_bodies(job.tree, first_range, lists);
  }
  if (job.wants_indices) {
    gather_indices(job, first_range, first_body, lists);
  }
}

template <bool bounded>
void walk_batches(const Job& job, std::span<const Batch> batches, WalkSpace& space) {
  Lists& lists = *space.buffers;
  WalkSums& sums = space.sums;
  const std::span<const BodyGroup> groups = job.targets.tree.groups();
  const Batch* const all = job.targets.tree.batches().data();
  auto before = SteadyClock::now();
  for (const Batch& batch : batches) {
    const Box box = find_target_boxes(job, batch, lists);
    if (box.is_empty()) {
      continue;
    }
    const Vector center = 0.5 * (box.low + box.high);
    lists.cell_count = lists.body_count = 0;
    WalkLists::OfBatch* const kept =
        job.lists != nullptr ? &job.lists->batches[static_cast<std::size_t>(&batch - all)] : nullptr;
    const bool is_reused = kept != nullptr && std::exchange(kept->is_recorded, true);
    const double guard2 = detail::guard2(box);
    // Part 0 is the list of the batch, part 1 + n that of its group n.
    const auto find = [&](std::uint32_t part, std::size_t first_range) {
      if (is_reused) {
        reuse(*kept, part, first_range, lists);
        return;
      }
      lists.range_count = first_range;
      if (part == 0) {
        walk_batch<bounded>(job, box, guard2, lists, sums);
      } else {
        walk_group<bounded>(job, lists.target_boxes[part - 1], guard2, lists, sums);
      }
      if (kept != nullptr) {
        record(lists, first_range, *kept);
      }
    };
    find(0, 0);
    gather(job, center, 0, lists);
    const std::size_t shared_cells = lists.cell_count;
    const std::size_t shared_bodies = lists.body_count;
    const std::size_t shared_ranges = lists.range_count;
    for (std::uint32_t number = 0; number < batch.group_count; ++number) {
      if (lists.target_boxes[number].is_empty()) {
        continue;
      }
      lists.cell_count = shared_cells;
      lists.body_count = shared_bodies;
      load_targets(job.targets, groups[batch.first_group + number], center, lists);
      if (lists.places.empty() && job.lists == nullptr) {
        continue;
      }
      find(1 + number, shared_ranges);
      gather(job, center, shared_ranges, lists);
      const auto between = SteadyClock::now();
      act(job, lists, space);
      const auto after = SteadyClock::now();
      sums.walk += between - before;
      sums.kernel += after - between;
      before = after;
    }
  }
}

}  // namespace

void WalkLists::begin(std::size_t count) {
  batches.resize(count);
  for (OfBatch& batch : batches) {
    batch.is_recorded = false;
    batch.cells.clear();
    batch.ranges.clear();
    batch.ends.clear();
  }
}

void walk(const Sources& sources,
          const Targets& targets,
          std::span<const Batch> batches,
          const WalkOptions& options,
          WalkSpace& space) {
  if (space.buffers == nullptr) {
    space.buffers = {new Lists, [](Lists* lists) { delete lists; }};
  }
  const Job job = job_of(sources, targets, options);
  const bool is_bounded = job.kernel_options.is_bounded();
  (is_bounded ? walk_batches<true> : walk_batches<false>)(job, batches, space);
}

}  // namespace plait::particles
