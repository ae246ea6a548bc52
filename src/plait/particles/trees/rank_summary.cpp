// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/rank_summary.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/particles/trees/detail/moments.hpp"
#include "plait/particles/trees/detail/motion.hpp"
#include "plait/particles/trees/detail/opening.hpp"

namespace plait::particles {
namespace {

Dipole in_message(const Vector& dipole) {
  return {static_cast<float>(dipole.x), static_cast<float>(dipole.y), static_cast<float>(dipole.z)};
}

/// Sets a node of a table to that of a rank or a block, with what joining needs.
void put(const RankSummary& summary, NodeTable& table, std::uint32_t node) {
  table.nodes()[node] = summary.root;
  table.extents()[node] = {.box = summary.box.box(), .mass = static_cast<double>(summary.root.mass)};
  table.signs()[node] = {static_cast<double>(summary.weight),
                         {static_cast<double>(summary.dipole.x),
                          static_cast<double>(summary.dipole.y),
                          static_cast<double>(summary.dipole.z)}};
  if (table.columns().reaches) {
    table.reaches()[node] = summary.reach;
  }
}

/// What the opening distance of a joined node depends on.
TreeOptions opening_options(const TreeOptions& of, float theta) {
  TreeOptions options;
  options.theta = static_cast<double>(theta);
  options.order = of.order;
  options.signs = of.signs;
  options.near_radius = of.near_radius;
  options.near_reach = of.near_reach;
  options.near_search = of.near_search;
  return options;
}

RankSummary joined(std::span<const RankSummary* const> parts, const TreeOptions& options) {
  NodeTable table;
  table.start({.signs = true, .reaches = options.near_reach.has_value()});
  const auto count = static_cast<std::uint32_t>(parts.size());
  const std::uint32_t first = table.add(count + 1) + 1;  // behind their parent
  RankSummary whole;
  whole.theta = parts.front()->theta;
  for (std::uint32_t i = 0; i < count; ++i) {
    put(*parts[i], table, first + i);
    whole.body_count += parts[i]->body_count;
    whole.theta = std::min(whole.theta, parts[i]->theta);
    whole.reach = std::max(whole.reach, parts[i]->reach);
  }
  table.nodes()[0].set_content(NodeKind::cell, first, count);
  detail::sum_children(table, 0);
  if (table.columns().reaches) {
    table.reaches()[0] = whole.reach;
  }
  detail::set_opening(opening_options(options, whole.theta), table, 0);
  whole.root = table.nodes()[0];
  whole.root.set_content(NodeKind::sealed, 0, 0);
  whole.box = SmallBox{table.extents()[0].box};
  whole.weight = static_cast<float>(table.signs()[0].weight);
  whole.dipole = in_message(table.signs()[0].dipole);
  whole.motion = detail::mean_motion(
      parts.size(),
      [&](std::size_t i) { return static_cast<double>(parts[i]->weight); },
      [&](std::size_t i) { return parts[i]->motion; });
  return whole;
}

}  // namespace

RankSummary summary_of(const Tree& tree) {
  RankSummary summary;
  summary.theta = static_cast<float>(tree.options().theta);
  if (!tree.nodes().empty()) {
    const NodeExtent& extent = tree.extents()[0];
    summary.root = tree.nodes()[0];
    summary.root.set_content(NodeKind::sealed, 0, 0);
    summary.box = SmallBox{tree.target_box(0)};
    summary.body_count = extent.body_count;
    summary.weight = static_cast<float>(tree.signs().empty() ? extent.mass : tree.signs()[0].weight);
    summary.reach = tree.reaches().empty() ? 0 : tree.reaches()[0];
    summary.dipole = tree.signs().empty() ? Dipole{} : in_message(tree.signs()[0].dipole);
    summary.motion = tree.motions().empty() ? NodeMotion{} : tree.motions()[0];
  }
  return summary;
}

RankBoundary boundary_of(const RankSummary& summary) {
  RankBoundary boundary;
  boundary.root = summary.root;
  boundary.body_count = summary.body_count;
  boundary.box_count = summary.is_empty() ? 0 : 1;
  boundary.box_table[0] = summary.box;
  return boundary;
}

bool needs_let(const RankSummary& sender, const RankSummary& receiver, const TreeOptions& options) {
  return !sender.is_empty() && !receiver.is_empty() && detail::Bounds{options}.opens(sender.root, receiver.box.box());
}

bool is_valid(const RankSummary& summary) {
  const NodeMotion& motion = summary.motion;
  return std::isfinite(summary.theta + summary.weight + summary.reach) &&
         std::isfinite(summary.dipole.x + summary.dipole.y + summary.dipole.z) &&
         std::isfinite(motion.x + motion.y + motion.z + motion.spread) && is_valid(boundary_of(summary));
}

TreeSummaries::TreeSummaries(const TreeOptions& options, Near near)
    : options_{options},
      near_{near},
      moment_bytes_{particles::moment_bytes(options)},
      row_bytes_{(sizeof(RankSummary) + moment_bytes_ + 7) / 8 * 8} {}

const RankSummary& TreeSummaries::summary(SummaryRow row) {
  expect(std::bit_cast<std::uintptr_t>(row.data()) % alignof(RankSummary) == 0, "rows are aligned");
  return *reinterpret_cast<const RankSummary*>(row.data());
}

void TreeSummaries::write(const Tree& tree, std::span<std::byte> row) const {
  const RankSummary summary = summary_of(tree);
  std::ranges::fill(row, std::byte{0});
  std::memcpy(row.data(), &summary, sizeof summary);
  if (!summary.is_empty()) {
    std::ranges::copy(tree.view().moments.first(moment_bytes_), row.begin() + sizeof summary);
  }
}

void TreeSummaries::join(SummaryRow parts, std::span<std::byte> block) const {
  std::vector<const RankSummary*> summaries;
  std::vector<std::byte> rows;  // of parts with particles
  for (std::size_t i = 0; i < parts.size(); i += row_bytes_) {
    if (!summary(parts.subspan(i)).is_empty()) {
      const SummaryRow row = parts.subspan(i, row_bytes_);
      summaries.push_back(&summary(row));
      rows.insert(rows.end(), row.begin(), row.end());
    }
  }
  if (summaries.size() < 2) {
    std::ranges::copy(summaries.empty() ? parts.first(row_bytes_) : SummaryRow{rows}, block.begin());
    return;
  }
  const RankSummary whole = joined(summaries, options_);
  std::ranges::fill(block, std::byte{0});
  std::memcpy(block.data(), &whole, sizeof whole);
  join_moments(rows, whole, block.subspan(sizeof whole, moment_bytes_));
}

void TreeSummaries::join_moments(SummaryRow parts, const RankSummary& whole, std::span<std::byte> to) const {
  if (moment_bytes_ == 0) {
    return;
  }
  const CellMoments& own = options_.moments;
  if (own.bytes == 0) {
    std::memcpy(to.data(), &whole.dipole, sizeof whole.dipole);
    return;
  }
  std::ranges::copy(own.none, to.begin());
  for (std::size_t i = 0; i < parts.size(); i += row_bytes_) {
    const SummaryRow part = parts.subspan(i, row_bytes_);
    own.add_child(to.data(), moments(part).data(), summary(part).root.center - whole.root.center);
  }
}

void TreeSummaries::find_near(SummaryRow one, SummaryRow others, std::span<std::uint8_t> are_near) const {
  const RankSummary& mine = summary(one);
  const Box box = mine.box.box();
  const double guard2 = detail::guard2(box);
  const detail::Bounds bounds{options_};
  for (std::size_t i = 0; i < are_near.size(); ++i) {
    const RankSummary& theirs = summary(others.subspan(i * row_bytes_));
    if (mine.is_empty() || theirs.is_empty()) {
      are_near[i] = 0;
      continue;
    }
    are_near[i] =
        near_ == Near::all || bounds.opens(theirs.root, box, guard2) || bounds.opens(mine.root, theirs.box.box());
  }
}

bool TreeSummaries::suffices(SummaryRow sender, SummaryRow receiver) const {
  return !needs_let(summary(sender), summary(receiver), options_);
}

}  // namespace plait::particles
