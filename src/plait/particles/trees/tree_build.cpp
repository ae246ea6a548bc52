// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/tree_build.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/particles/trees/detail/charges.hpp"
#include "plait/particles/trees/detail/moments.hpp"

namespace plait::particles {
namespace {

/// The first body of each child of a cell, and the end.
using Partition = std::array<std::uint32_t, 9>;

/// The innermost part that contains a node under construction.
enum class Within : std::uint8_t { none, batch, group };

/// Divides the bodies [first, last), whose keys agree on `level` levels, by the next level.
Partition divide(std::span<const KeyedIndex> keys, std::uint32_t first, std::uint32_t last, int level) {
  constexpr std::uint32_t linear_search_max = 128;
  const int shift = 3 * (morton_levels - 1 - level);
  const auto octant = [&](std::uint32_t i) { return keys[i].key >> shift & 7U; };
  Partition parts{first};
  std::uint32_t begin = first;
  for (std::uint64_t i = 0; i < 8; ++i) {
    if (last - first > linear_search_max) {
      const auto end = std::partition_point(keys.begin() + begin, keys.begin() + last, [&](const KeyedIndex& item) {
        return (item.key >> shift & 7U) <= i;
      });
      begin = static_cast<std::uint32_t>(end - keys.begin());
    } else {
      while (begin < last && octant(begin) <= i) {
        ++begin;
      }
    }
    parts[i + 1] = begin;
  }
  return parts;
}

/// Appends the children of `node`, one for each part that has bodies; returns the first. They are contiguous.
std::uint32_t add_children(NodeTable& table, std::uint32_t node, const Partition& parts) {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    count += parts[i] < parts[i + 1] ? 1 : 0;
  }
  const std::uint32_t begin = table.add(count);
  table.nodes()[node].set_content(NodeKind::cell, begin, count);
  return begin;
}

}  // namespace

/// Builds the nodes above the subtrees, depth first, from the roots of which branches begin.
class TreeBuild::Top {
 public:
  /// Cells of at most `share` bodies become branches of `build`.
  Top(TreeBuild& build, std::uint32_t share)
      : keys_{build.keys_}, share_{share}, table_{build.tree_->table_}, build_{build} {}

  void build(std::uint32_t node, std::uint32_t first, std::uint32_t last) {
    const int level = common_levels(keys_[first].key, keys_[last - 1].key);
    table_.extents()[node].first_body = first;
    table_.extents()[node].body_count = last - first;
    if (last - first <= share_ || level == morton_levels) {
      if (build_.branch_count_ == build_.branches_.size()) {
        build_.branches_.emplace_back();
      }
      Branch& branch = build_.branches_[build_.branch_count_++];
      branch.node = node;
      branch.first_body = first;
      branch.last_body = last;
      return;
    }
    const Partition parts = divide(keys_, first, last, level);
    std::uint32_t child = add_children(table_, node, parts);
    for (std::size_t i = 0; i < 8; ++i) {
      if (parts[i] < parts[i + 1]) {
        build(child++, parts[i], parts[i + 1]);
      }
    }
  }

 private:
  std::span<const KeyedIndex> keys_;
  std::uint32_t share_;
  NodeTable& table_;
  TreeBuild& build_;
};

/// Builds the nodes of a branch over sorted keys, depth first, with its groups and batches.
class TreeBuild::Subtree {
 public:
  Subtree(const TreeBuild& build, Branch& out)
      : keys_{build.keys_},
        bodies_{build.tree_->options_, *build.tree_->store_, build.tree_->sources_},
        first_level_{build.has_subtrees_of_signs_ ? 1 : 0},
        out_{out} {}

  void build(std::uint32_t node, std::uint32_t first, std::uint32_t last, Within within) {
    const TreeOptions& options = bodies_.options;
    const int level = common_levels(keys_[first].key, keys_[last - 1].key);
    // Positions in a batch are relative to its centre, in single precision: outliers get batches of their own.
    // Neither do cells of one sign contain charges of the other.
    const bool mixed = level < first_level_;
    const bool leaf = !mixed && (last - first <= options.leaf_bodies_max || level == morton_levels);
    const bool new_batch = !mixed && within == Within::none && (leaf || last - first <= options.batch_bodies_max);
    const bool new_group = !mixed && within != Within::group && (leaf || last - first <= options.group_bodies_max);
    const std::size_t batch = out_.batches.size();
    const std::size_t group = out_.groups.size();
    if (new_batch) {
      out_.batches.push_back({{}, static_cast<std::uint32_t>(group), 0});
    }
    if (new_group) {
      out_.groups.push_back({{}, first, last - first});
    }
    out_.table.extents()[node].first_body = first;
    out_.table.extents()[node].body_count = last - first;
    if (leaf) {
      out_.table.nodes()[node].set_content(NodeKind::leaf, first, last - first);
    } else {
      const Within inner = new_group ? Within::group : new_batch ? Within::batch : within;
      build_children(node, divide(keys_, first, last, level), inner);
    }
    detail::sum_node(bodies_, out_.table, node);
    if (new_group) {
      out_.groups[group].box = box_of(node);
    }
    if (new_batch) {
      out_.batches[batch].box = box_of(node);
      out_.batches[batch].group_count = static_cast<std::uint32_t>(out_.groups.size() - group);
    }
  }

 private:
  /// Small children that are a half or a quarter of the cell together share a group: cells alone have from an eighth of
  /// the bodies wanted to all of them, by where they happen to be divided.
  void build_children(std::uint32_t node, const Partition& parts, Within within) {
    std::uint32_t child = add_children(out_.table, node, parts);
    for (std::size_t i = 0; i < 8;) {
      const std::size_t width = within == Within::batch ? width_of_group(parts, i) : 1;
      const std::size_t group = out_.groups.size();
      if (width > 1) {
        out_.groups.push_back({{}, parts[i], parts[i + width] - parts[i]});
      }
      for (const std::size_t end = i + width; i < end; ++i) {
        if (parts[i] < parts[i + 1]) {
          build(child, parts[i], parts[i + 1], width > 1 ? Within::group : within);
          if (width > 1) {
            out_.groups[group].box.include(box_of(child));
          }
          ++child;
        }
      }
    }
  }

  /// The number of octants from `begin` on that have enough bodies for one group: 4, 2 or 1.
  [[nodiscard]] std::size_t width_of_group(const Partition& parts, std::size_t begin) const {
    std::size_t width = 4;
    while (width > 1 && (begin % width != 0 || parts[begin] == parts[begin + width] ||
                         parts[begin + width] - parts[begin] > bodies_.options.group_bodies_max)) {
      width /= 2;
    }
    return width;
  }

  [[nodiscard]] Box box_of(std::uint32_t node) const {
    const float reach = bodies_.options.near_reach ? out_.table.reaches()[node] : 0;
    return target_box(out_.table.extents()[node].box, reach, bodies_.options);
  }

  std::span<const KeyedIndex> keys_;
  detail::TreeBodies bodies_;
  int first_level_;  ///< 1 if the first digit of keys is the sign of the charge.
  Branch& out_;
};

void TreeBuild::build(Particles& store, const TreeOptions& options) {
  begin(store, options, bounding_box(store), 1);
  sort_chunk(0);
  order_piece(0);
  plan_subtrees();
  for (std::uint32_t i = 0; i < subtrees(); ++i) {
    build_subtree(i);
  }
  plan_join();
  finish();
}

void TreeBuild::begin(Particles& store, const TreeOptions& options, const Box& box, std::uint32_t pieces) {
  expect(pieces > 0, "a tree is built in at least one piece");
  expect(store.size() < bodies_max, "a node counts its bodies in 30 bits");
  pieces_ = pieces;
  keys_of_ = KeySpace{box, std::as_const(store).positions()};
  tree_->options_ = options;
  tree_->store_ = &store;
  const std::size_t n = store.size();
  has_subtrees_of_signs_ = false;
  if (options.signs == ChargeSigns::apart) {
    const detail::Charges charges{store, options};
    for (std::size_t i = 0; i < n && !has_subtrees_of_signs_; ++i) {
      has_subtrees_of_signs_ = charges[i] < 0;
    }
  }
  has_negative_.store(false, std::memory_order_relaxed);
  from_.resize(n);
  keys_.resize(n);
  keys_scratch_.resize(n);
  tree_->sources_.resize(n);
  store.begin_reorder();
  sort_.clear();
  sort_.emplace_back(keys_, keys_scratch_, pieces);
}

void TreeBuild::sort_chunk(std::uint32_t piece) {
  const Particles& store = *tree_->store_;
  const auto positions = store.positions();
  const detail::Charges charges{store, tree_->options_};
  const std::size_t n = keys_.size();
  for (std::size_t i = n * piece / pieces_; i < n * (piece + 1) / pieces_; ++i) {
    const double charge = has_subtrees_of_signs_ ? charges[i] : 0;
    keys_[i] = {key_of(positions[i], charge), static_cast<std::uint32_t>(i)};
  }
  sort_.front().sort_chunk(piece);
}

/// In a tree of both signs, the sign replaces the first digit, and the place has one level less.
MortonKey TreeBuild::key_of(const Vector& position, double charge) const {
  constexpr MortonKey far = MortonKey{1} << far_bit;
  const MortonKey key = keys_of_.key_of(position);
  if (!has_subtrees_of_signs_) {
    return key;
  }
  const MortonKey sign = charge < 0 ? 1 : 0;
  return (key & far) | sign << (far_bit - 3) | (key & ~far) >> 3;
}

void TreeBuild::split_sort() {
  sort_.front().split();
}

void TreeBuild::merge_piece(std::uint32_t piece) {
  sort_.front().merge_piece(piece);
}

void TreeBuild::order_piece(std::uint32_t piece) {
  // After a merge the sorted keys are in the scratch space.
  const std::vector<KeyedIndex>& sorted = pieces_ > 1 ? keys_scratch_ : keys_;
  const std::size_t n = keys_.size();
  const std::size_t first = n * piece / pieces_;
  const std::size_t last = n * (piece + 1) / pieces_;
  const Particles& store = *tree_->store_;
  const auto positions = store.positions();
  const detail::Charges charges{store, tree_->options_};
  bool has_negative = false;
  for (std::size_t i = first; i < last; ++i) {
    const std::uint32_t from = sorted[i].index;
    const double charge = charges[from];
    from_[i] = from;
    tree_->sources_[i] = {positions[from], charge};
    has_negative |= charge < 0;
  }
  if (has_negative) {
    has_negative_.store(true, std::memory_order_relaxed);
  }
  tree_->store_->reorder_piece(from_, first, last);
}

void TreeBuild::plan_subtrees() {
  if (pieces_ > 1) {
    keys_.swap(keys_scratch_);
  }
  Tree& tree = *tree_;
  tree.store_->end_reorder();
  tree.has_signs_ = tree.options_.signs != ChargeSigns::one || has_negative_.load(std::memory_order_relaxed);
  tree.start();
  branch_count_ = 0;
  const auto n = static_cast<std::uint32_t>(keys_.size());
  if (n > 0) {
    constexpr std::uint32_t subtrees_a_piece = 8;
    const std::uint32_t share = pieces_ > 1 ? n / (subtrees_a_piece * pieces_) : n;
    tree.table_.add(1);
    Top{*this, std::max(share, tree.options_.batch_bodies_max)}.build(0, 0, n);
  }
  top_size_ = tree.table_.size();
}

void TreeBuild::build_subtree(std::uint32_t subtree) {
  Branch& branch = branches_[subtree];
  branch.groups.clear();
  branch.batches.clear();
  branch.table.start(tree_->table_.columns());
  branch.table.add(1);
  Subtree{*this, branch}.build(0, branch.first_body, branch.last_body, Within::none);
}

void TreeBuild::plan_join() {
  Tree& tree = *tree_;
  if (branch_count_ == 1) {
    std::swap(tree.table_, branches_[0].table);
    tree.groups_.swap(branches_[0].groups);
    tree.batches_.swap(branches_[0].batches);
    return;
  }
  std::uint32_t nodes = top_size_;
  std::uint32_t groups = 0;
  std::uint32_t batches = 0;
  for (Branch& branch : std::span{branches_}.first(branch_count_)) {
    branch.node_begin = nodes;
    branch.group_begin = groups;
    branch.batch_begin = batches;
    nodes += branch.table.size() - 1;
    groups += static_cast<std::uint32_t>(branch.groups.size());
    batches += static_cast<std::uint32_t>(branch.batches.size());
  }
  tree.table_.add(nodes - top_size_);
  tree.groups_.resize(groups);
  tree.batches_.resize(batches);
}

/// The root of the branch takes the place reserved for it.
void TreeBuild::join_subtree(std::uint32_t subtree) {
  Branch& branch = branches_[subtree];
  for (Node& node : branch.table.nodes()) {
    node.first += node.kind() == NodeKind::cell ? branch.node_begin - 1 : 0;
  }
  NodeTable& table = tree_->table_;
  table.copy(branch.table, 0, 1, branch.node);
  table.copy(branch.table, 1, branch.table.size() - 1, branch.node_begin);
  for (Batch& batch : branch.batches) {
    batch.first_group += branch.group_begin;
  }
  std::ranges::copy(branch.batches, tree_->batches_.begin() + branch.batch_begin);
  std::ranges::copy(branch.groups, tree_->groups_.begin() + branch.group_begin);
}

void TreeBuild::finish() {
  if (branch_count_ <= 1) {
    return;
  }
  std::vector<bool> done(top_size_, false);
  for (const Branch& branch : std::span{branches_}.first(branch_count_)) {
    done[branch.node] = true;
  }
  for (std::uint32_t i = top_size_; i-- > 0;) {  // children are after their parents
    if (!done[i]) {
      tree_->sum_node(i);
    }
  }
}

void build_tree(Tree& tree, Particles& store, const TreeOptions& options) {
  TreeBuild{tree}.build(store, options);
}

}  // namespace plait::particles
