// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/tree_over_cells.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/particles/trees/detail/charges.hpp"

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

}  // namespace

/// Builds nodes over the levels of cells: cells, groups, leaves, bodies. A node with several parts has up to eight
/// children, found by repeated halving, as cells were.
class TreeOverCells::Structure {
 public:
  Structure(const CellSizes& sizes, std::uint32_t leaf_bodies_max, TreeOverCells& out)
      : leaf_bodies_max_{leaf_bodies_max},
        parts_{ends_of(sizes.cells), ends_of(sizes.groups), ends_of(sizes.leaves)},
        table_{out.tree_->table_},
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
    table_.extents()[node].first_body = first_body;
    table_.extents()[node].body_count = count;
    if (level == bodies && count <= leaf_bodies_max_) {
      table_.nodes()[node].set_content(NodeKind::leaf, first_body, count);
    } else if (level == bodies || last - first > 1) {
      if (level == 0) {
        out_.top_.push_back(node);
      }
      divide(node, level, first, last);
    } else {
      const std::uint32_t begin = table_.size();
      build(node, level + 1, parts_[level][first], parts_[level][last]);
      if (level == 0) {
        out_.of_batches_[first] = {node, begin, table_.size()};
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
    const auto children = static_cast<std::uint32_t>(ends.size()) - 1;
    const std::uint32_t begin = table_.add(children);
    table_.nodes()[node].set_content(NodeKind::cell, begin, children);
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
  NodeTable& table_;
  TreeOverCells& out_;
};

void TreeOverCells::assign(Particles& store, const TreeOptions& options, const CellSizes& sizes) {
  expect(store.size() < bodies_max, "a node counts its bodies in 30 bits");
  Tree& tree = *tree_;
  tree.options_ = options;
  tree.store_ = &store;
  tree.has_signs_ = options.signs != ChargeSigns::one;
  const detail::Charges charges{store, options};
  for (std::size_t i = 0; i < store.size() && !tree.has_signs_; ++i) {
    tree.has_signs_ = charges[i] < 0;
  }
  tree.sources_.resize(store.size());
  tree.start();
  top_.clear();
  of_batches_.resize(sizes.cells.size());
  if (store.size() == 0) {
    return;
  }
  tree.table_.add(1);
  Structure structure{sizes, options.leaf_bodies_max, *this};
  expect(structure.first_body(0, structure.count(0)) == store.size(), "cells divide all particles");
  structure.build(0, 0, 0, structure.count(0));
  for (std::uint32_t cell = 0; cell < structure.count(0); ++cell) {
    const std::uint32_t first = structure.part(0, cell);
    tree.batches_.push_back({{}, first, structure.part(0, cell + 1) - first});
  }
  for (std::uint32_t group = 0; group < structure.count(1); ++group) {
    const std::uint32_t first = structure.first_body(1, group);
    const std::uint32_t size = structure.first_body(1, group + 1) - first;
    tree.groups_.push_back({{}, first, size});
    tree.options_.group_bodies_max = std::max(tree.options_.group_bodies_max, size);
  }
}

void TreeOverCells::refresh_batch(std::uint32_t batch, const Drift& drift) {
  Tree& tree = *tree_;
  const Particles& store = *tree.store_;
  expect(store.size() == tree.sources_.size(), "the store has the particles of the last build");
  const BatchNodes nodes = of_batches_[batch];
  const NodeExtent& extent = tree.table_.extents()[nodes.root];
  const auto positions = store.positions();
  const detail::Charges charges{store, tree.options_};
  const bool is_present = drift.duration == 0;
  for (std::uint32_t i = extent.first_body; i < extent.first_body + extent.body_count; ++i) {
    const Vector position = is_present ? positions[i] : positions[i] + drift.duration * store[drift.velocity][i];
    tree.sources_[i] = {position, charges[i]};
  }
  for (std::uint32_t i = nodes.last; i-- > nodes.first;) {  // children are after their parents
    tree.sum_node(i);
  }
  tree.sum_node(nodes.root);
  tree.set_boxes(tree.batches_[batch]);
}

void TreeOverCells::refresh_top() {
  for (std::size_t i = top_.size(); i-- > 0;) {  // children are after their parents
    tree_->sum_node(top_[i]);
  }
}

}  // namespace plait::particles
