// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#include "plait/particles/store/box.hpp"
#include "plait/particles/trees/tree.hpp"

namespace plait::particles {

/// A box in single precision, rounded outward.
struct SmallBox {
  std::array<float, 3> low{};
  std::array<float, 3> high{};

  SmallBox() = default;
  explicit SmallBox(const Box& box);
  [[nodiscard]] Box box() const;
};

/// A rank's root node, and boxes of upper nodes that bound its bodies.
///
/// No box divides a group. Several boxes bound a curved domain, such as a part of a ring, more tightly than one.
struct RankBoundary {
  static constexpr std::uint32_t boxes_max = 64;

  Node root;  ///< Sealed; undefined if there are no bodies.
  std::uint64_t body_count = 0;
  std::uint32_t box_count = 0;
  std::uint32_t unused = 0;
  std::array<SmallBox, boxes_max> box_table{};

  [[nodiscard]] std::span<const SmallBox> boxes() const { return {box_table.data(), box_count}; }
  [[nodiscard]] bool is_empty() const { return body_count == 0; }
};
static_assert(std::is_trivially_copyable_v<RankBoundary>, "travels in messages");

/// Computes at most `boxes` boxes, dividing the most populated nodes first. Cost: O(boxes log boxes).
[[nodiscard]] RankBoundary make_boundary(const Tree& tree, std::uint32_t boxes = RankBoundary::boxes_max);

/// Whether the bodies of `receiver` may need more of `sender` than the multipole of its root; false if either has no
/// bodies. Both ranks compute the same.
[[nodiscard]] bool needs_let(const RankBoundary& sender, const RankBoundary& receiver, const TreeOptions& options);

/// Whether received data are consistent: counts are in range, numbers are finite.
[[nodiscard]] bool is_valid(const RankBoundary& boundary);

}  // namespace plait::particles
