// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/let.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "plait/particles/store/morton.hpp"
#include "plait/particles/trees/detail/moments.hpp"
#include "plait/particles/trees/detail/motion.hpp"
#include "plait/particles/trees/detail/opening.hpp"

namespace plait::particles {
namespace {

constexpr std::size_t padded(std::size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

/// The fault of `node`, at `index`, in a tree of that size; null if there is none.
const char* fault_of(const Node& node, std::uint64_t index, const LetHeader& header) {
  const std::uint64_t end = std::uint64_t{node.first} + node.count();
  if (!is_finite(node.center) || !std::isfinite(node.mass) || !std::isfinite(node.second_moment.value()) ||
      std::isnan(node.opening2) || std::isnan(node.radius.value())) {
    return "is not finite";
  }
  switch (node.kind()) {
    case NodeKind::sealed:
      return nullptr;
    case NodeKind::leaf:
      return end <= header.source_count ? nullptr : "refers to bodies beyond the end";
    case NodeKind::cell:
      if (node.first <= index) {
        return "refers to children before itself";
      }
      return end <= header.node_count ? nullptr : "refers to children beyond the end";
  }
  return "has an unknown kind";
}

Error fault(const std::string& what) {
  return Error{ErrorCode::bad_input, "received tree: " + what + "; do all ranks run the same program?"};
}

}  // namespace

void LetPlan::choose(const Tree& tree, const RankBoundary& receiver) {
  targets_.clear();
  nodes_.clear();
  from_.clear();
  ranges_.clear();
  source_count_ = 0;
  if (tree.nodes().empty() || receiver.is_empty()) {
    return;
  }
  for (const SmallBox& small : receiver.boxes()) {
    const Box box = small.box();
    targets_.push_back({box, detail::guard2(box)});
  }
  nodes_.resize(1);
  from_.resize(1);
  copy(tree, 0, 0, {0, targets_.size()});
}

/// Copies node `from` to index `to`. Only the targets in `near` may need to open it.
void LetPlan::copy(const Tree& tree, std::uint32_t from, std::uint32_t to, std::pair<std::size_t, std::size_t> near) {
  const Node& node = tree.nodes()[from];
  const detail::Bounds bounds{tree.options()};
  from_[to] = from;
  const std::size_t near_begin = targets_.size();
  for (std::size_t i = near.first; i < near.second; ++i) {
    const Target target = targets_[i];
    if (bounds.opens(node, target.box, target.guard2)) {
      targets_.push_back(target);  // a stack, with those of the ancestors below
    }
  }
  const std::size_t near_end = targets_.size();
  const bool needed = near_end > near_begin;
  if (node.kind() == NodeKind::leaf && (needed || node.count() == 1)) {
    nodes_[to].set_content(NodeKind::leaf, static_cast<std::uint32_t>(source_count_), node.count());
    source_count_ += node.count();
    if (!ranges_.empty() && ranges_.back().first + ranges_.back().count == node.first) {
      ranges_.back().count += node.count();
    } else {
      ranges_.push_back({node.first, node.count()});
    }
  } else if (node.kind() == NodeKind::cell && needed) {
    const auto first = static_cast<std::uint32_t>(nodes_.size());
    nodes_.resize(first + node.count());
    from_.resize(first + node.count());
    nodes_[to].set_content(NodeKind::cell, first, node.count());
    for (std::uint32_t i = 0; i < node.count(); ++i) {
      copy(tree, node.first + i, first + i, {near_begin, near_end});
    }
  } else {
    nodes_[to].set_content(NodeKind::sealed, 0, 0);
  }
  targets_.resize(near_begin);
}

void LetPlan::write(const Tree& tree, Bytes& buffer) const {
  const std::vector<AnyField>& travels = tree.options().travels;
  const TreeView view = tree.view();
  LetHeader header;
  header.node_count = static_cast<std::uint32_t>(nodes_.size());
  header.source_count = static_cast<std::uint32_t>(source_count_);
  header.column_count = static_cast<std::uint32_t>(travels.size());
  header.motion_count = tree.options().velocity ? header.node_count : 0;
  header.moment_bytes = static_cast<std::uint32_t>(moment_bytes(tree.options()));
  const std::size_t moments_size = nodes_.size() * header.moment_bytes;
  std::size_t size = sizeof header + nodes_.size() * sizeof(Node) + header.motion_count * sizeof(NodeMotion) +
                     padded(moments_size) + source_count_ * sizeof(Source);
  for (const AnyField& field : travels) {
    header.row_bytes += field.bytes;
    size += padded(source_count_ * field.bytes);
  }
  buffer.resize(size);
  std::byte* to = buffer.data();
  const auto put = [&to](const void* from, std::size_t bytes) {
    if (bytes > 0) {
      std::memcpy(to, from, bytes);
    }
    to += bytes;
  };
  put(&header, sizeof header);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node node = tree.nodes()[from_[i]];
    node.first = nodes_[i].first;
    node.count_and_kind = nodes_[i].count_and_kind;
    put(&node, sizeof node);
  }
  for (std::uint32_t i = 0; i < header.motion_count; ++i) {
    put(&tree.motions()[from_[i]], sizeof(NodeMotion));
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    put(view.moments.data() + from_[i] * header.moment_bytes, header.moment_bytes);
  }
  std::memset(to, 0, padded(moments_size) - moments_size);
  to += padded(moments_size) - moments_size;
  for (const Range& range : ranges_) {
    put(tree.sources().data() + range.first, range.count * sizeof(Source));
  }
  for (std::size_t column = 0; column < travels.size(); ++column) {
    const std::size_t bytes = travels[column].bytes;
    std::byte* const end = to + padded(source_count_ * bytes);
    for (const Range& range : ranges_) {
      put(view.columns[column] + range.first * bytes, range.count * bytes);
    }
    std::memset(to, 0, static_cast<std::size_t>(end - to));
    to = end;
  }
}

Result<TreeView> open_let(std::span<const std::byte> buffer,
                          std::span<const AnyField> travels,
                          std::size_t moment_bytes) {
  expect(std::bit_cast<std::uintptr_t>(buffer.data()) % alignof(double) == 0, "nodes are read in place");
  LetHeader header;
  if (buffer.size() < sizeof header) {
    return fault(fmt::format("{} bytes are too few for a header", buffer.size()));
  }
  std::memcpy(&header, buffer.data(), sizeof header);
  if (header.magic != LetHeader::magic_value) {
    return fault("its header is not that of a tree");
  }
  if (header.motion_count != 0 && header.motion_count != header.node_count) {
    return fault(fmt::format("{} of its {} nodes have motions", header.motion_count, header.node_count));
  }
  if (header.moment_bytes != moment_bytes) {
    return fault(
        fmt::format("its cells have moments of {} bytes, and this rank expects {}", header.moment_bytes, moment_bytes));
  }
  const std::size_t moments_size = header.node_count * moment_bytes;
  std::size_t expected = sizeof header + header.node_count * sizeof(Node) + header.motion_count * sizeof(NodeMotion) +
                         padded(moments_size) + header.source_count * sizeof(Source);
  std::size_t row_bytes = 0;
  TreeView view;
  for (const AnyField& field : travels) {
    view.columns.push_back(buffer.data() + expected);
    expected += padded(std::size_t{header.source_count} * field.bytes);
    row_bytes += field.bytes;
  }
  if (header.column_count != travels.size() || header.row_bytes != row_bytes) {
    return fault(fmt::format("its particles have {} fields of {} bytes in total, and this rank expects {} of {}",
                             header.column_count,
                             header.row_bytes,
                             travels.size(),
                             row_bytes));
  }
  if (buffer.size() != expected) {
    return fault(fmt::format("{} bytes arrived, and the header states {}", buffer.size(), expected));
  }
  const auto* nodes = reinterpret_cast<const Node*>(buffer.data() + sizeof header);
  const auto* motions = reinterpret_cast<const NodeMotion*>(nodes + header.node_count);
  const auto* moments = reinterpret_cast<const std::byte*>(motions + header.motion_count);
  const auto* sources = reinterpret_cast<const Source*>(moments + padded(moments_size));
  for (std::uint32_t i = 0; i < header.node_count; ++i) {
    if (const char* why = fault_of(nodes[i], i, header)) {
      return fault(fmt::format("node {} of {} {}", i, header.node_count, why));
    }
  }
  if (!std::all_of(sources, sources + header.source_count, [](const Source& source) {
        return is_finite(source.position) && std::isfinite(source.mass);
      })) {
    return fault("a particle is not finite");
  }
  if (!std::all_of(motions, motions + header.motion_count, [](const NodeMotion& motion) {
        return std::isfinite(motion.x + motion.y + motion.z + motion.spread);
      })) {
    return fault("a motion is not finite");
  }
  view.nodes = {nodes, header.node_count};
  view.motions = {motions, header.motion_count};
  view.root_count = header.node_count > 0 ? 1U : 0U;
  view.sources = {sources, header.source_count};
  view.moments = {moments, moments_size};
  return view;
}

void drift(Node& node, const NodeMotion& motion, double duration) {
  node.center += duration * detail::velocity_of(motion);
  const float radius = node.radius.value();
  if (radius > 0 && std::isfinite(node.opening2)) {
    const float growth = 1 + motion.spread * static_cast<float>(duration) / radius;
    node.radius = ShortFloat::at_least(radius * growth);
    node.opening2 *= growth * growth;
  }
}

namespace {

/// The part of `buffer` that `part` views.
template <class T>
std::span<T> mutable_part(std::span<std::byte> buffer, std::span<const T> part) {
  if (part.empty()) {
    return {};
  }
  const auto offset = reinterpret_cast<const std::byte*>(part.data()) - buffer.data();
  return {reinterpret_cast<T*>(buffer.data() + offset), part.size()};
}

}  // namespace

void drift_let(std::span<std::byte> buffer, const TreeView& view, std::size_t velocities, double duration) {
  expect(view.motions.size() == view.nodes.size(), "a tree that drifts has motions");
  const std::span<Node> nodes = mutable_part(buffer, view.nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    drift(nodes[i], view.motions[i], duration);
  }
  const std::byte* from = view.columns[velocities];
  for (Source& source : mutable_part(buffer, view.sources)) {
    Vector velocity;
    std::memcpy(&velocity, from, sizeof velocity);
    source.position += duration * velocity;
    from += sizeof velocity;
  }
}

FarField::FarField(SummaryRow rows, const TreeSummaries& summaries, Shape shape) {
  std::vector<SummaryRow> roots;
  Box box;
  for (std::size_t i = 0; i < rows.size(); i += summaries.row_bytes()) {
    const RankSummary& summary = TreeSummaries::summary(rows.subspan(i));
    if (!summary.is_empty()) {
      roots.push_back(rows.subspan(i, summaries.row_bytes()));
      box.include(summary.root.center);
    }
  }
  root_count_ = static_cast<std::uint32_t>(roots.size());
  if (shape == Shape::tree && !roots.empty()) {
    const KeyCube cube{box};
    std::ranges::stable_sort(
        roots, {}, [&](SummaryRow row) { return cube.key_of(TreeSummaries::summary(row).root.center); });
    join_levels(std::move(roots), summaries);
    return;
  }
  for (const SummaryRow root : roots) {
    add(root, summaries);
  }
}

void FarField::add(SummaryRow row, const TreeSummaries& summaries) {
  nodes_.push_back(TreeSummaries::summary(row).root);
  const SummaryRow moments = summaries.moments(row);
  moments_.insert(moments_.end(), moments.begin(), moments.end());
}

/// Joins consecutive roots, which are in order along the curve, level by level until one node is left. Then adds the
/// levels, the last one first: children are after their parents.
void FarField::join_levels(std::vector<SummaryRow> level, const TreeSummaries& summaries) {
  constexpr std::size_t arity = 4;
  const std::size_t row_bytes = summaries.row_bytes();
  std::vector<std::vector<std::byte>> joined;
  std::vector<std::vector<SummaryRow>> levels{std::move(level)};
  while (levels.back().size() > 1) {
    const std::vector<SummaryRow>& below = levels.back();
    const std::size_t count = (below.size() + arity - 1) / arity;
    std::vector<std::byte>& rows = joined.emplace_back(count * row_bytes);
    std::vector<std::byte> parts;
    std::vector<SummaryRow> above;
    for (std::size_t i = 0; i < count; ++i) {
      parts.clear();
      for (std::size_t k = arity * i; k < std::min(arity * (i + 1), below.size()); ++k) {
        parts.insert(parts.end(), below[k].begin(), below[k].end());
      }
      const std::span<std::byte> row = std::span{rows}.subspan(i * row_bytes, row_bytes);
      summaries.join(parts, row);
      above.emplace_back(row);
    }
    levels.push_back(std::move(above));
  }
  root_count_ = 1;
  for (std::size_t number = levels.size(); number-- > 0;) {
    const std::size_t children_begin = nodes_.size() + levels[number].size();
    for (std::size_t i = 0; i < levels[number].size(); ++i) {
      add(levels[number][i], summaries);
      if (number > 0) {
        const std::size_t count = std::min(arity, levels[number - 1].size() - arity * i);
        nodes_.back().set_content(
            NodeKind::cell, static_cast<std::uint32_t>(children_begin + arity * i), static_cast<std::uint32_t>(count));
      }
    }
  }
}

}  // namespace plait::particles
