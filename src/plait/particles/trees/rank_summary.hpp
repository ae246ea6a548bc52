// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "plait/particles/domains/summary_exchange.hpp"
#include "plait/particles/trees/boundary.hpp"
#include "plait/particles/trees/node.hpp"
#include "plait/particles/trees/tree.hpp"

namespace plait::particles {

/// The root node of a rank's tree and the box of its particles; or those of all ranks of a block.
struct RankSummary {
  Node root;  ///< Sealed; undefined if there are no particles.
  SmallBox box;
  std::uint64_t body_count = 0;
  float weight = 0;   ///< The sum of absolute charges.
  float reach = 0;    ///< The largest of its bodies', if they have one.
  float theta = 0;    ///< The opening angle of the tree; of a block the smallest.
  Dipole dipole;      ///< About the centre; 0 if all charges have one sign.
  NodeMotion motion;  ///< Zero unless the tree has motions.

  [[nodiscard]] bool is_empty() const { return body_count == 0; }
};
static_assert(std::is_trivially_copyable_v<RankSummary> && sizeof(RankSummary) == 136, "travels in messages");

[[nodiscard]] RankSummary summary_of(const Tree& tree);
/// A boundary with the one box of the summary.
[[nodiscard]] RankBoundary boundary_of(const RankSummary& summary);
/// Whether the bodies of `receiver` may need more of `sender` than the multipole of its root; false if either has no
/// bodies. Both ranks compute the same.
[[nodiscard]] bool needs_let(const RankSummary& sender, const RankSummary& receiver, const TreeOptions& options);
/// Whether received data are consistent: counts are in range, numbers are finite.
[[nodiscard]] bool is_valid(const RankSummary& summary);

/// Summaries of trees as rows of an exchange: a `RankSummary`, then the moments of its root (`TreeView::moments`).
///
/// The summary of a block is a node of a tree over ranks, with the moments and the opening distance of a cell.
class TreeSummaries final : public SummaryRules {
 public:
  enum class Near : std::uint8_t {
    by_opening,  ///< Ranks that need more of each other than the multipoles of their roots.
    all,         ///< All ranks that have particles.
  };
  /// Borrows `options`.
  explicit TreeSummaries(const TreeOptions& options, Near near = Near::by_opening);

  [[nodiscard]] std::size_t row_bytes() const noexcept override { return row_bytes_; }
  void join(SummaryRow parts, std::span<std::byte> block) const override;
  void find_near(SummaryRow one, SummaryRow others, std::span<std::uint8_t> are_near) const override;
  [[nodiscard]] bool suffices(SummaryRow sender, SummaryRow receiver) const override;

  /// Writes the row of a tree.
  void write(const Tree& tree, std::span<std::byte> row) const;
  /// The summary in a row, which is read in place.
  [[nodiscard]] static const RankSummary& summary(SummaryRow row);
  [[nodiscard]] SummaryRow moments(SummaryRow row) const { return row.subspan(sizeof(RankSummary), moment_bytes_); }

 private:
  void join_moments(SummaryRow parts, const RankSummary& whole, std::span<std::byte> moments) const;

  const TreeOptions& options_;
  const Near near_;
  const std::size_t moment_bytes_;
  const std::size_t row_bytes_;
};

}  // namespace plait::particles
