// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plait::data::balance::detail {

/// Pairs of objects of one rank, by the sum of their loads. A walk drops pairs that are no longer on one rank. Cost: 16
/// bytes a pair; a search among buckets to add one.
class PairIndex {
 public:
  struct Pair {
    double sum;
    std::uint32_t first;
    std::uint32_t second;
  };

  /// Empty, and stays empty.
  PairIndex() = default;
  /// The sums of `pairs` determine the buckets.
  explicit PairIndex(std::vector<Pair> pairs) {
    constexpr std::size_t of_bucket = 8;
    std::ranges::sort(pairs, [](const Pair& one, const Pair& other) { return one.sum < other.sum; });
    for (std::size_t i = 0; i < pairs.size(); i += of_bucket) {
      if (edges_.empty() || edges_.back() < pairs[i].sum) {
        edges_.push_back(pairs[i].sum);
      }
    }
    buckets_.resize(edges_.size());
    for (const Pair& pair : pairs) {
      add(pair);
    }
  }

  [[nodiscard]] bool is_empty() const noexcept { return buckets_.empty(); }
  void add(const Pair& pair) {
    if (!buckets_.empty()) {
      buckets_[bucket_of(pair.sum)].push_back(pair);
    }
  }

  /// Calls `visit(pair)` for at most `count` pairs whose sum is about `sum` or less, roughly the nearest first, until
  /// it returns true. Returns whether it did. `is_there(pair)`: whether both are still on one rank.
  template <class IsThere, class Visit>
  bool walk(double sum, std::size_t count, IsThere is_there, Visit visit) {
    if (buckets_.empty()) {
      return false;
    }
    for (std::size_t place = bucket_of(sum) + 1; place-- > 0 && count > 0;) {
      std::vector<Pair>& bucket = buckets_[place];
      for (std::size_t i = 0; i < bucket.size() && count > 0; --count) {
        if (!is_there(bucket[i])) {
          bucket[i] = bucket.back();
          bucket.pop_back();
          continue;
        }
        if (visit(bucket[i])) {
          return true;
        }
        ++i;
      }
    }
    return false;
  }

 private:
  [[nodiscard]] std::size_t bucket_of(double sum) const {
    const auto after = std::ranges::upper_bound(edges_, sum) - edges_.begin();
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(after, 1) - 1);
  }

  std::vector<double> edges_;  ///< The least sum of each bucket; the first has all below too.
  std::vector<std::vector<Pair>> buckets_;
};

}  // namespace plait::data::balance::detail
