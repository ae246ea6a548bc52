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

/// Where the bodies of a rank are, and what they are from afar: what every rank knows of every other.
///
/// The boxes are those of upper nodes of its tree and cover each of its groups whole; a rank's part of a ring is
/// curved, so that one box would be mostly empty.
struct RankBoundary {
  static constexpr std::uint32_t boxes_max = 64;

  Node root;  ///< Sealed; meaningless when there are no bodies.
  std::uint64_t body_count = 0;
  std::uint32_t box_count = 0;
  std::uint32_t unused = 0;
  std::array<SmallBox, boxes_max> box_table{};

  [[nodiscard]] std::span<const SmallBox> boxes() const { return {box_table.data(), box_count}; }
  [[nodiscard]] bool is_empty() const { return body_count == 0; }
};
static_assert(std::is_trivially_copyable_v<RankBoundary>, "travels in messages");

/// A rank as others know it from afar: its root, and the box of its particles.
struct RankSummary {
  Node root;  ///< Sealed; meaningless when there are no particles.
  SmallBox box;
  std::uint32_t body_count = 0;
  std::uint32_t unused[9] = {};

  [[nodiscard]] bool is_empty() const { return body_count == 0; }
};
static_assert(std::is_trivially_copyable_v<RankSummary> && sizeof(RankSummary) == 128, "travels in messages");

[[nodiscard]] RankSummary summary_of(const Tree& tree);
/// With the one box that the summary has.
[[nodiscard]] RankBoundary boundary_of(const RankSummary& summary);
/// Whether particles in the receiver's box may need more of `sender` than its root. Both sides compute the same.
[[nodiscard]] bool needs_let(const RankSummary& sender, const RankSummary& receiver, const TreeOptions& options);
[[nodiscard]] bool is_valid(const RankSummary& summary);

/// At most `boxes` boxes, dividing the most populated nodes first. Cost: O(boxes log boxes).
[[nodiscard]] RankBoundary make_boundary(const Tree& tree, std::uint32_t boxes = RankBoundary::boxes_max);

/// Whether the bodies of `receiver` need more of `sender` than its root moment. Both sides compute the same.
///
/// False when either has no bodies; then the receiver must not use the root of an empty sender.
[[nodiscard]] bool needs_let(const RankBoundary& sender, const RankBoundary& receiver, const TreeOptions& options);

/// A boundary received from elsewhere is consistent: counts in range, finite numbers.
[[nodiscard]] bool is_valid(const RankBoundary& boundary);

}  // namespace plait::particles
