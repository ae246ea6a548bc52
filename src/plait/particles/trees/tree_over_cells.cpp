// SPDX-License-Identifier: Apache-2.0
// Trees whose lower levels are given cells, so that particles keep the order of their cells.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/particles/trees/detail/moments.hpp"
#include "plait/particles/trees/detail/motion.hpp"
#include "plait/particles/trees/tree.hpp"

namespace plait::particles {
namespace {

constexpr std::uint32_t children_max = 8;

/// The ends of consecutive parts, in units of the parts below: part i is [ends[i], ends[i + 1]).
std::vector<std::uint32_t> ends_of(std::span<const std::uint16_t> sizes) {
  std::vector<std::uint32_t> ends{0};
  ends.reserve(sizes.size() + 1);
  for (const std::uint16_t size : sizes) {
    ends.push_back(ends.back() + size);
  }
  return ends;
}

/// The structure of a tree over cells.
struct Structure {
  Nodes& nodes;
  std::vector<NodeExtent>& extents;
  detail::CellNodes& of_cells;
};

/// Builds nodes over the levels of cells: cells, groups, leaves, bodies. A node with several parts has up to eight
/// children, found by repeated halving, as cells were.
class CellBuilder {
 public:
  CellBuilder(const CellSizes& sizes, std::uint32_t leaf_bodies_max, Structure out)
      : leaf_bodies_max_{leaf_bodies_max},
        parts_{ends_of(sizes.cells), ends_of(sizes.groups), ends_of(sizes.leaves)},
        out_{out} {
    for (std::size_t level = 0; level < level_count; ++level) {
      first_body_[level].resize(parts_[level].size());
      for (std::size_t part = 0; part < parts_[level].size(); ++part) {
        std::uint32_t place = parts_[level][part];
        for (std::size_t below = level + 1; below < level_count; ++below) {
          place = parts_[below][place];
        }
        first_body_[level][part] = place;
      }
    }
  }

  [[nodiscard]] std::uint32_t count(std::size_t level) const {
    return static_cast<std::uint32_t>(parts_[level].size()) - 1;
  }
  [[nodiscard]] std::uint32_t part(std::size_t level, std::uint32_t number) const { return parts_[level][number]; }
  [[nodiscard]] std::uint32_t first_body(std::size_t level, std::uint32_t number) const {
    return first_body_[level][number];
  }

  /// Builds `node` over the parts [first, last) of `level`; those of level `bodies` are bodies.
  void build(std::uint32_t node, std::size_t level, std::uint32_t first, std::uint32_t last) {
    const std::uint32_t first_body = first_body_of(level, first);
    const std::uint32_t count = first_body_of(level, last) - first_body;
    out_.extents[node].first_body = first_body;
    out_.extents[node].body_count = count;
    if (level == bodies && count <= leaf_bodies_max_) {
      out_.nodes[node].set_content(NodeKind::leaf, first_body, count);
    } else if (level == bodies || last - first > 1) {
      if (level == 0) {
        out_.of_cells.top.push_back(node);
      }
      divide(node, level, first, last);
    } else {
      const auto begin = static_cast<std::uint32_t>(out_.nodes.size());
      build(node, level + 1, parts_[level][first], parts_[level][last]);
      if (level == 0) {
        out_.of_cells.of_batches[first] = {node, begin, static_cast<std::uint32_t>(out_.nodes.size())};
      }
    }
  }

 private:
  static constexpr std::size_t level_count = 3;
  static constexpr std::size_t bodies = level_count;

  [[nodiscard]] std::uint32_t first_body_of(std::size_t level, std::uint32_t part) const {
    return level == bodies ? part : first_body_[level][part];
  }

  void divide(std::uint32_t node, std::size_t level, std::uint32_t first, std::uint32_t last) {
    std::vector<std::uint32_t> ends{first, last};
    while (ends.size() <= children_max / 2) {
      const std::vector<std::uint32_t> before = std::exchange(ends, {first});
      for (std::size_t i = 0; i + 1 < before.size(); ++i) {
        if (is_divisible(level, before[i], before[i + 1])) {
          ends.push_back(half_of(level, before[i], before[i + 1]));
        }
        ends.push_back(before[i + 1]);
      }
      if (ends.size() == before.size()) {
        break;
      }
    }
    const auto begin = static_cast<std::uint32_t>(out_.nodes.size());
    const auto children = static_cast<std::uint32_t>(ends.size()) - 1;
    out_.nodes.resize(begin + children);
    out_.extents.resize(begin + children);
    out_.nodes[node].set_content(NodeKind::cell, begin, children);
    for (std::uint32_t child = 0; child < children; ++child) {
      build(begin + child, level, ends[child], ends[child + 1]);
    }
  }

  [[nodiscard]] bool is_divisible(std::size_t level, std::uint32_t first, std::uint32_t last) const {
    return last - first > (level == bodies ? leaf_bodies_max_ : 1);
  }

  /// The part at which about half of the bodies of [first, last) begin.
  [[nodiscard]] std::uint32_t half_of(std::size_t level, std::uint32_t first, std::uint32_t last) const {
    if (level == bodies) {
      return first + (last - first) / 2;
    }
    const std::vector<std::uint32_t>& begins = first_body_[level];
    const std::uint32_t middle = begins[first] + (begins[last] - begins[first]) / 2;
    const auto begin = begins.begin() + first + 1;
    auto found = std::lower_bound(begin, begins.begin() + last, middle);
    if (found != begin && (found == begins.begin() + last || middle - *(found - 1) < *found - middle)) {
      --found;
    }
    return static_cast<std::uint32_t>(found - begins.begin());
  }

  std::uint32_t leaf_bodies_max_;
  std::array<std::vector<std::uint32_t>, level_count> parts_;       ///< By level, the ends of its parts.
  std::array<std::vector<std::uint32_t>, level_count> first_body_;  ///< By level, of each part and of the end.
  Structure out_;
};

}  // namespace

void Tree::assign(Particles& store, const TreeOptions& options, const CellSizes& sizes) {
  expect(store.size() < bodies_max, "a node counts its bodies in 30 bits");
  options_ = options;
  store_ = &store;
  sources_.resize(store.size());
  nodes_.clear();
  extents_.clear();
  moments_.clear();
  groups_.clear();
  batches_.clear();
  cell_nodes_.top.clear();
  cell_nodes_.of_batches.resize(sizes.cells.size());
  if (store.size() == 0) {
    return;
  }
  nodes_.resize(1);
  extents_.resize(1);
  CellBuilder builder{sizes, options.leaf_bodies_max, {nodes_, extents_, cell_nodes_}};
  expect(builder.first_body(0, builder.count(0)) == store.size(), "cells divide all particles");
  builder.build(0, 0, 0, builder.count(0));
  moments_.assign(nodes_.size() * moment_bytes(options), std::byte{});
  for (std::uint32_t cell = 0; cell < builder.count(0); ++cell) {
    batches_.push_back({{}, builder.part(0, cell), builder.part(0, cell + 1) - builder.part(0, cell)});
  }
  for (std::uint32_t group = 0; group < builder.count(1); ++group) {
    const std::uint32_t first = builder.first_body(1, group);
    groups_.push_back({{}, first, builder.first_body(1, group + 1) - first});
    options_.group_bodies_max = std::max(options_.group_bodies_max, groups_.back().body_count);
  }
}

void Tree::refresh_batch(std::uint32_t batch, const Drift& drift) {
  const Particles& store = *store_;
  expect(store.size() == sources_.size(), "the store has the particles of the last build");
  const detail::BatchNodes nodes = cell_nodes_.of_batches[batch];
  const NodeExtent& extent = extents_[nodes.root];
  const auto positions = store.positions();
  const bool is_present = drift.duration == 0;
  for (std::uint32_t i = extent.first_body; i < extent.first_body + extent.body_count; ++i) {
    const Vector position = is_present ? positions[i] : positions[i] + drift.duration * store[drift.velocity][i];
    sources_[i] = {position, charge_of(i)};
  }
  for (std::size_t i = nodes.last; i-- > nodes.first;) {  // children are after their parents
    sum_node(i);
  }
  sum_node(nodes.root);
  set_boxes(batches_[batch]);
}

void Tree::refresh_top() {
  for (std::size_t i = cell_nodes_.top.size(); i-- > 0;) {  // children are after their parents
    sum_node(cell_nodes_.top[i]);
  }
}

void Tree::find_motions() {
  expect(options_.velocity.has_value(), "motions need a velocity");
  const auto velocities = std::as_const(*store_)[*options_.velocity];
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    const Node& node = nodes_[i];
    if (node.kind() == NodeKind::leaf) {
      extents_[i].motion = detail::mean_motion(
          node.count(),
          [&](std::size_t body) { return sources_[node.first + body].mass; },
          [&](std::size_t body) {
            const Vector& v = velocities[node.first + body];
            return NodeMotion{static_cast<float>(v.x), static_cast<float>(v.y), static_cast<float>(v.z)};
          });
    } else {
      extents_[i].motion = detail::mean_motion(
          node.count(),
          [&](std::size_t child) { return extents_[node.first + child].mass; },
          [&](std::size_t child) { return extents_[node.first + child].motion; });
    }
  }
}

}  // namespace plait::particles
