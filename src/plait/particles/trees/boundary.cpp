// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/boundary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/particles/trees/detail/opening.hpp"

namespace plait::particles {
namespace {

float rounded_down(double v) {
  const auto near = static_cast<float>(v);
  return static_cast<double>(near) <= v ? near : std::nextafter(near, -std::numeric_limits<float>::infinity());
}
float rounded_up(double v) {
  return -rounded_down(-v);
}

/// Whether no child of `node` divides a group, as ranks test whole groups.
bool is_divisible(const Tree& tree, const Node& node) {
  if (node.kind() != NodeKind::cell) {
    return false;
  }
  const auto children = tree.extents().subspan(node.first, node.count());
  return std::ranges::all_of(children, [&](const NodeExtent& child) {
    return std::ranges::binary_search(tree.groups(), child.first_body, {}, &BodyGroup::first_body);
  });
}

}  // namespace

SmallBox::SmallBox(const Box& box)
    : low{rounded_down(box.low.x), rounded_down(box.low.y), rounded_down(box.low.z)},
      high{rounded_up(box.high.x), rounded_up(box.high.y), rounded_up(box.high.z)} {}

Box SmallBox::box() const {
  return {{low[0], low[1], low[2]}, {high[0], high[1], high[2]}};
}

RankBoundary make_boundary(const Tree& tree, std::uint32_t boxes) {
  expect(boxes > 0 && boxes <= RankBoundary::boxes_max, "a boundary has room for so many boxes");
  RankBoundary boundary;
  if (tree.nodes().empty()) {
    return boundary;
  }
  const std::span<const Node> nodes = tree.nodes();
  const std::span<const NodeExtent> extents = tree.extents();
  boundary.root = nodes[0];
  boundary.root.set_content(NodeKind::sealed, 0, 0);
  boundary.body_count = extents[0].body_count;
  std::vector<std::uint32_t> done;
  std::vector<std::uint32_t> open{0};
  const auto fewer_bodies = [&](std::uint32_t a, std::uint32_t b) {
    return extents[a].body_count < extents[b].body_count;
  };
  while (!open.empty()) {
    std::ranges::pop_heap(open, fewer_bodies);
    const std::uint32_t index = open.back();
    const Node& node = nodes[index];
    open.pop_back();
    if (!is_divisible(tree, node) || done.size() + open.size() + node.count() > boxes) {
      done.push_back(index);
      continue;
    }
    for (std::uint32_t child = node.first; child < node.first + node.count(); ++child) {
      open.push_back(child);
      std::ranges::push_heap(open, fewer_bodies);
    }
  }
  for (const std::uint32_t index : done) {
    boundary.box_table[boundary.box_count++] = SmallBox{tree.target_box(index)};
  }
  return boundary;
}

bool needs_let(const RankBoundary& sender, const RankBoundary& receiver, const TreeOptions& options) {
  if (sender.is_empty() || receiver.is_empty()) {
    return false;
  }
  const detail::Bounds bounds{options};
  return std::ranges::any_of(receiver.boxes(),
                             [&](const SmallBox& small) { return bounds.opens(sender.root, small.box()); });
}

bool is_valid(const RankBoundary& boundary) {
  if (boundary.box_count > RankBoundary::boxes_max || (boundary.body_count > 0) != (boundary.box_count > 0)) {
    return false;
  }
  if (boundary.is_empty()) {
    return true;
  }
  const Node& root = boundary.root;
  const bool finite = std::isfinite(root.center.x + root.center.y + root.center.z) && std::isfinite(root.mass);
  return finite && root.kind() == NodeKind::sealed && std::ranges::all_of(boundary.boxes(), [](const SmallBox& small) {
           return small.low[0] <= small.high[0] && small.low[1] <= small.high[1] && small.low[2] <= small.high[2];
         });
}

}  // namespace plait::particles
