// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plait::particles::detail {

/// A value along an axis and what it weighs.
struct Weighed {
  double place = 0;
  double weight = 0;
};

/// Finds the boundaries that divide weighted values of all ranks into parts of equal weight: all ranks sum what they
/// have below the same edges, and choose closer edges.
class CutSearch {
 public:
  struct Options {
    std::uint32_t parts = 2;
    double low = 0;  ///< No value on any rank is lower, none higher than `high`.
    double high = 1;
    double tolerance = 0.02;      ///< Of the weight of a part.
    std::span<const double> old;  ///< The old boundaries, where the search starts; may be empty.
  };
  /// `mine`: this rank's values, in any order.
  CutSearch(const Options& options, std::vector<Weighed> mine);

  /// No more rounds are needed. The same on all ranks.
  [[nodiscard]] bool is_done() const noexcept { return is_done_; }
  /// This rank's weight below each edge, then its total: to be summed over the ranks, in place.
  [[nodiscard]] std::vector<double> weigh() const;
  /// Takes the sums of all ranks, and chooses the next edges.
  void narrow(std::span<const double> sums);

  /// No rank has a value.
  [[nodiscard]] bool is_empty() const noexcept { return total_ <= 0; }
  /// Ascending. Expects: done, and not empty.
  [[nodiscard]] std::vector<double> cuts() const;

 private:
  /// A boundary is between `low` and `high`, with the weights below these.
  struct Bracket {
    double goal = 0;
    double low = 0;
    double high = 0;
    double below_low = 0;
    double below_high = 0;

    [[nodiscard]] double estimate() const;
  };

  [[nodiscard]] bool is_close(const Bracket& bracket) const;
  void choose_first_edges(std::span<const double> old);
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
