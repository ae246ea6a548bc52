// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/tree.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/particles/trees/detail/moments.hpp"

namespace plait::particles {
namespace {

using detail::Branch;

/// The first body of each child of a cell, and the end.
using Partition = std::array<std::uint32_t, 9>;

/// The innermost part that contains a node under construction.
enum class Within : std::uint8_t { none, batch, group };

/// The bodies of a build in the order of their keys. `reaches` is empty, or has one for each.
struct SortedBodies {
  std::span<const KeyedIndex> keys;
  std::span<const Source> sources;
  std::span<const float> reaches;
};

/// Builds nodes over sorted keys, depth first; the children of a node are contiguous.
class Builder {
 public:
  /// `first_level` is 1 if the first digit of keys is the sign of the charge.
  Builder(const SortedBodies& bodies, const TreeOptions& options, int first_level, Branch& out)
      : keys_{bodies.keys},
        sources_{bodies.sources},
        reaches_{bodies.reaches},
        options_{options},
        first_level_{first_level},
        out_{out} {}

  void build(std::uint32_t node, std::uint32_t first, std::uint32_t last, Within within) {
    const int level = common_levels(keys_[first].key, keys_[last - 1].key);
    // Positions in a batch are relative to its centre, in single precision: outliers get batches of their own.
    // Neither do cells of one sign contain charges of the other.
    const bool mixed = level < first_level_;
    const bool leaf = !mixed && (last - first <= options_.leaf_bodies_max || level == morton_levels);
    const bool new_batch = !mixed && within == Within::none && (leaf || last - first <= options_.batch_bodies_max);
    const bool new_group = !mixed && within != Within::group && (leaf || last - first <= options_.group_bodies_max);
    const std::size_t batch = out_.batches.size();
    const std::size_t group = out_.groups.size();
    if (new_batch) {
      out_.batches.push_back({{}, static_cast<std::uint32_t>(group), 0});
    }
    if (new_group) {
      out_.groups.push_back({{}, first, last - first});
    }
    out_.extents[node].first_body = first;
    out_.extents[node].body_count = last - first;
    if (leaf) {
      out_.nodes[node].set_content(NodeKind::leaf, first, last - first);
      detail::sum_bodies(sources_.subspan(first, last - first), out_.nodes[node], out_.extents[node]);
      if (!reaches_.empty()) {
        out_.extents[node].reach = std::ranges::max(reaches_.subspan(first, last - first));
      }
    } else {
      const Within inner = new_group ? Within::group : new_batch ? Within::batch : within;
      const Partition parts = divide(first, last, level);
      const std::uint32_t begin = add_children(node, parts);
      std::uint32_t child = begin;
      for (std::size_t i = 0; i < 8; ++i) {
        if (parts[i] < parts[i + 1]) {
          build(child++, parts[i], parts[i + 1], inner);
        }
      }
      detail::sum_children(std::span{out_.nodes}.subspan(begin, child - begin),
                           std::span{out_.extents}.subspan(begin, child - begin),
                           out_.nodes[node],
                           out_.extents[node]);
    }
    detail::set_opening(options_, out_.extents[node], out_.nodes[node]);
    if (new_group) {
      out_.groups[group].box = target_box(out_.extents[node], options_);
    }
    if (new_batch) {
      out_.batches[batch].box = target_box(out_.extents[node], options_);
      out_.batches[batch].group_count = static_cast<std::uint32_t>(out_.groups.size() - group);
    }
  }

  /// Builds the cells of more than `bodies` bodies; the others become `branches`.
  void build_top(std::uint32_t node,
                 std::uint32_t first,
                 std::uint32_t last,
                 std::uint32_t bodies,
                 std::vector<Branch>& branches,
                 std::size_t& branch_count) {
    const int level = common_levels(keys_[first].key, keys_[last - 1].key);
    out_.extents[node].first_body = first;
    out_.extents[node].body_count = last - first;
    if (last - first <= bodies || level == morton_levels) {
      if (branch_count == branches.size()) {
        branches.emplace_back();
      }
      Branch& branch = branches[branch_count++];
      branch.node = node;
      branch.first_body = first;
      branch.last_body = last;
      return;
    }
    const Partition parts = divide(first, last, level);
    std::uint32_t child = add_children(node, parts);
    for (std::size_t i = 0; i < 8; ++i) {
      if (parts[i] < parts[i + 1]) {
        build_top(child++, parts[i], parts[i + 1], bodies, branches, branch_count);
      }
    }
  }

 private:
  std::uint32_t add_children(std::uint32_t node, const Partition& parts) {
    const auto begin = static_cast<std::uint32_t>(out_.nodes.size());
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      count += parts[i] < parts[i + 1] ? 1 : 0;
    }
    out_.nodes.resize(begin + count);
    out_.extents.resize(begin + count);
    out_.nodes[node].set_content(NodeKind::cell, begin, count);
    return begin;
  }

  [[nodiscard]] Partition divide(std::uint32_t first, std::uint32_t last, int level) const {
    const int shift = 3 * (morton_levels - 1 - level);
    const auto octant = [&](std::uint32_t i) { return keys_[i].key >> shift & 7U; };
    Partition parts{first};
    std::uint32_t begin = first;
    for (std::uint64_t i = 0; i < 8; ++i) {
      if (last - first > linear_search_max) {
        const auto end = std::partition_point(keys_.begin() + begin, keys_.begin() + last, [&](const KeyedIndex& item) {
          return (item.key >> shift & 7U) <= i;
        });
        begin = static_cast<std::uint32_t>(end - keys_.begin());
      } else {
        while (begin < last && octant(begin) <= i) {
          ++begin;
        }
      }
      parts[i + 1] = begin;
    }
    return parts;
  }

  static constexpr std::uint32_t linear_search_max = 128;

  std::span<const KeyedIndex> keys_;
  std::span<const Source> sources_;
  std::span<const float> reaches_;
  const TreeOptions& options_;
  int first_level_;
  Branch& out_;
};

}  // namespace

Box target_box(const NodeExtent& extent, const TreeOptions& options) {
  if (!options.near_reach || options.near_search == Search::scatter) {
    return extent.box;
  }
  const auto reach = static_cast<double>(extent.reach);
  const Vector margin{reach, reach, reach};
  return {extent.box.low - margin, extent.box.high + margin};
}

void Tree::build(Particles& store, const TreeOptions& options) {
  begin(store, options, bounding_box(store), 1);
  sort_chunk(0);
  order_piece(0);
  plan_subtrees();
  for (std::uint32_t i = 0; i < subtrees(); ++i) {
    build_subtree(i);
  }
  finish();
}

void Tree::begin(Particles& store, const TreeOptions& options, const Box& box, std::uint32_t pieces) {
  expect(pieces > 0, "a tree is built in at least one piece");
  expect(store.size() < bodies_max, "a node counts its bodies in 30 bits");
  options_ = options;
  pieces_ = pieces;
  keys_of_ = KeySpace{box, std::as_const(store).positions()};
  store_ = &store;
  const std::size_t n = store.size();
  has_subtrees_of_signs_ = false;
  if (options.signs == ChargeSigns::apart) {
    for (std::size_t i = 0; i < n && !has_subtrees_of_signs_; ++i) {
      has_subtrees_of_signs_ = charge_of(i) < 0;
    }
  }
  from_.resize(n);
  keys_.resize(n);
  keys_scratch_.resize(n);
  sources_.resize(n);
  cell_nodes_ = {};
  store.begin_reorder();
  sort_.clear();
  sort_.emplace_back(keys_, keys_scratch_, pieces);
}

void Tree::sort_chunk(std::uint32_t piece) {
  const std::size_t n = keys_.size();
  for (std::size_t i = n * piece / pieces_; i < n * (piece + 1) / pieces_; ++i) {
    keys_[i] = {key_of(i), static_cast<std::uint32_t>(i)};
  }
  sort_.front().sort_chunk(piece);
}

void Tree::split_sort() {
  sort_.front().split();
}

void Tree::merge_piece(std::uint32_t piece) {
  sort_.front().merge_piece(piece);
}

void Tree::order_piece(std::uint32_t piece) {
  // After a merge the sorted keys are in the scratch space.
  const std::vector<KeyedIndex>& sorted = pieces_ > 1 ? keys_scratch_ : keys_;
  const std::size_t n = keys_.size();
  const std::size_t first = n * piece / pieces_;
  const std::size_t last = n * (piece + 1) / pieces_;
  const Particles& store = *store_;
  const auto positions = store.positions();
  for (std::size_t i = first; i < last; ++i) {
    const std::uint32_t from = sorted[i].index;
    from_[i] = from;
    sources_[i] = {positions[from], charge_of(from)};
  }
  store_->reorder_piece(from_, first, last);
}

void Tree::plan_subtrees() {
  if (pieces_ > 1) {
    keys_.swap(keys_scratch_);
  }
  store_->end_reorder();
  nodes_.clear();
  extents_.clear();
  moments_.clear();
  groups_.clear();
  batches_.clear();
  branches_.count = 0;
  const auto n = static_cast<std::uint32_t>(keys_.size());
  if (n == 0) {
    return;
  }
  Branch top;
  top.nodes.swap(nodes_);
  top.extents.swap(extents_);
  top.nodes.resize(1);
  top.extents.resize(1);
  const std::uint32_t share = pieces_ > 1 ? n / (8 * pieces_) : n;
  Builder builder{{keys_, sources_, reaches()}, options_, has_subtrees_of_signs_ ? 1 : 0, top};
  builder.build_top(0, 0, n, std::max(share, options_.batch_bodies_max), branches_.all, branches_.count);
  nodes_.swap(top.nodes);
  extents_.swap(top.extents);
}

void Tree::build_subtree(std::uint32_t subtree) {
  Branch& branch = branches_.all[subtree];
  branch.groups.clear();
  branch.batches.clear();
  branch.nodes.resize(1);
  branch.extents.resize(1);
  Builder{{keys_, sources_, reaches()}, options_, has_subtrees_of_signs_ ? 1 : 0, branch}.build(
      0, branch.first_body, branch.last_body, Within::none);
  branch.moments.resize(branch.nodes.size() * moment_bytes(options_));
  for (std::size_t i = branch.nodes.size(); i-- > 0;) {  // children are after their parents
    detail::sum_moment(options_, *store_, {branch.nodes, branch.extents}, i, branch.moments);
  }
}

void Tree::finish() {
  const std::span<Branch> branches{branches_.all.data(), branches_.count};
  if (branches.size() == 1) {
    nodes_.swap(branches[0].nodes);
    extents_.swap(branches[0].extents);
    moments_.swap(branches[0].moments);
    groups_.swap(branches[0].groups);
    batches_.swap(branches[0].batches);
    return;
  }
  const std::size_t top_nodes = nodes_.size();
  const auto bytes = static_cast<std::ptrdiff_t>(moment_bytes(options_));
  moments_.resize(top_nodes * moment_bytes(options_));
  for (Branch& branch : branches) {
    // The branch's node 1 goes to the end; its root takes the place reserved for it.
    const auto offset = static_cast<std::uint32_t>(nodes_.size()) - 1;
    for (Node& node : branch.nodes) {
      node.first += node.kind() == NodeKind::cell ? offset : 0;
    }
    nodes_[branch.node] = branch.nodes.front();
    extents_[branch.node] = branch.extents.front();
    nodes_.insert(nodes_.end(), branch.nodes.begin() + 1, branch.nodes.end());
    extents_.insert(extents_.end(), branch.extents.begin() + 1, branch.extents.end());
    std::copy_n(branch.moments.begin(), bytes, moments_.begin() + bytes * static_cast<std::ptrdiff_t>(branch.node));
    moments_.insert(moments_.end(), branch.moments.begin() + bytes, branch.moments.end());
    for (Batch& batch : branch.batches) {
      batch.first_group += static_cast<std::uint32_t>(groups_.size());
    }
    batches_.insert(batches_.end(), branch.batches.begin(), branch.batches.end());
    groups_.insert(groups_.end(), branch.groups.begin(), branch.groups.end());
  }
  std::vector<bool> done(top_nodes, false);
  for (const Branch& branch : branches) {
    done[branch.node] = true;
  }
  for (std::size_t i = top_nodes; i-- > 0;) {  // children are after their parents
    if (!done[i]) {
      sum_node(i);
    }
  }
}

void Tree::refresh() {
  const Particles& store = *store_;
  expect(store.size() == sources_.size(), "the store has the particles of the last build");
  const auto positions = store.positions();
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    sources_[i] = {positions[i], charge_of(i)};
  }
  for (std::size_t i = nodes_.size(); i-- > 0;) {  // children are after their parents
    sum_node(i);
  }
  for (Batch& batch : batches_) {
    set_boxes(batch);
  }
}

void Tree::set_boxes(Batch& batch) {
  batch.box = {};
  for (BodyGroup& group : std::span{groups_}.subspan(batch.first_group, batch.group_count)) {
    NodeExtent extent;
    for (const Source& source : std::span{sources_}.subspan(group.first_body, group.body_count)) {
      extent.box.include(source.position);
    }
    extent.reach = reach_of(group.first_body, group.body_count);
    group.box = target_box(extent, options_);
    batch.box.include(group.box);
  }
}

std::span<const float> Tree::reaches() const {
  return options_.near_reach ? std::as_const(*store_)[*options_.near_reach] : std::span<const float>{};
}

float Tree::reach_of(std::size_t first, std::size_t count) const {
  const std::span<const float> all = reaches();
  return all.empty() ? 0 : std::ranges::max(all.subspan(first, count));
}

void Tree::sum_node(std::size_t i) {
  Node& node = nodes_[i];
  if (node.kind() == NodeKind::leaf) {
    detail::sum_bodies(std::span{sources_}.subspan(node.first, node.count()), node, extents_[i]);
    extents_[i].reach = reach_of(node.first, node.count());
  } else {
    detail::sum_children(std::span{nodes_}.subspan(node.first, node.count()),
                         std::span{extents_}.subspan(node.first, node.count()),
                         node,
                         extents_[i]);
  }
  detail::set_opening(options_, extents_[i], node);
  detail::sum_moment(options_, *store_, {nodes_, extents_}, i, moments_);
}

double Tree::charge_of(std::size_t place) const {
  const Particles& store = *store_;
  return options_.sources.are_all() || options_.sources.has(store[Particles::kind][place])
             ? store[options_.charge][place]
             : 0.0;
}

/// In a tree of both signs, the sign replaces the first digit, and the place has one level less.
MortonKey Tree::key_of(std::size_t place) const {
  constexpr MortonKey far = MortonKey{1} << far_bit;
  const MortonKey key = keys_of_.key_of(std::as_const(*store_).positions()[place]);
  if (!has_subtrees_of_signs_) {
    return key;
  }
  const MortonKey sign = charge_of(place) < 0 ? 1 : 0;
  return (key & far) | sign << (far_bit - 3) | (key & ~far) >> 3;
}

TreeView Tree::view() const {
  TreeView view{nodes_, nodes_.empty() ? 0U : 1U, sources_, {}, {}, moments_};
  for (const AnyField& field : options_.travels) {
    view.columns.push_back(std::as_const(*store_).bytes_of(field).data());
  }
  return view;
}

}  // namespace plait::particles
