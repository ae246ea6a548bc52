// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace plait::particles::detail {

/// Disjoint sets of the numbers below a size, with a label each: the smallest of their members'.
///
/// Source: Tarjan, J. ACM 22, 1975, with the halving of paths.
class Components {
 public:
  /// Each number is a set of its own, with its label.
  explicit Components(std::vector<std::uint64_t> labels) : labels_{std::move(labels)}, parents_(labels_.size()) {
    std::iota(parents_.begin(), parents_.end(), 0U);
  }

  [[nodiscard]] std::uint32_t root(std::uint32_t i) {
    while (parents_[i] != i) {
      parents_[i] = parents_[parents_[i]];
      i = parents_[i];
    }
    return i;
  }

  void join(std::uint32_t one, std::uint32_t other) {
    const std::pair<std::uint32_t, std::uint32_t> roots{root(one), root(other)};
    const auto [low, high] = std::minmax(roots.first, roots.second);
    parents_[high] = low;
    labels_[low] = std::min(labels_[low], labels_[high]);
  }

  [[nodiscard]] std::uint64_t label(std::uint32_t i) { return labels_[root(i)]; }

  /// Whether `label` was smaller than that of the set of `i`, and is now its label.
  bool lower(std::uint32_t i, std::uint64_t label) {
    std::uint64_t& now = labels_[root(i)];
    const bool is_lower = label < now;
    now = std::min(now, label);
    return is_lower;
  }

 private:
  std::vector<std::uint64_t> labels_;  ///< Of roots.
  std::vector<std::uint32_t> parents_;
};

}  // namespace plait::particles::detail
