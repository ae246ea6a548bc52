// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plait::particles::detail {

/// A coordinate and its weight.
struct Weighed {
  double place = 0;
  double weight = 0;
};

/// Finds the boundaries that divide weighted values of all ranks into parts of equal weight. In each round, ranks
/// reduce the weights below the same edges, and choose closer edges.
class CutSearch {
 public:
  struct Options {
    std::uint32_t parts = 2;
    double low = 0;  ///< All values on all ranks are in [low, high].
    double high = 1;
    double tolerance = 0.02;      ///< Of the weight of a part.
    std::span<const double> old;  ///< The old boundaries, near which the search starts; may be empty.
  };
  /// `mine`: this rank's values, in any order.
  CutSearch(const Options& options, std::vector<Weighed> mine);

  /// Whether the search is complete; equal on all ranks.
  [[nodiscard]] bool is_done() const noexcept { return is_done_; }
  /// This rank's weight below each edge, then its total, to be reduced over all ranks.
  [[nodiscard]] std::vector<double> weigh() const;
  /// Narrows the brackets by the reduced weights, and chooses the next edges.
  void narrow(std::span<const double> sums);

  /// Whether no rank has a value.
  [[nodiscard]] bool is_empty() const noexcept { return total_ <= 0; }
  /// Ascending. Expects: done, and not empty.
  [[nodiscard]] std::vector<double> cuts() const;

 private:
  /// Two bounds of a boundary, and the weights below them.
  struct Bracket {
    double goal = 0;
    double low = 0;
    double high = 0;
    double below_low = 0;
    double below_high = 0;

    [[nodiscard]] double estimate() const;
  };

  void choose_edges();
  void add_edge(const Bracket& bracket, double edge);
  void order_edges();

  double tolerance_;
  std::vector<Weighed> mine_;  ///< By place; `weight` is that of all before.
  double mine_total_ = 0;
  std::vector<Bracket> brackets_;
  std::vector<double> edges_;
  double total_ = 0;
  std::uint32_t rounds_ = 0;
  bool is_done_ = false;
};

}  // namespace plait::particles::detail
