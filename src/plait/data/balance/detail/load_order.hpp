// SPDX-License-Identifier: Apache-2.0
// Fast orders by load, of objects and of ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace plait::data::balance::detail {

struct LoadOf {
  double load;  ///< 0 or more.
  std::uint32_t number;
};

/// Sorts by falling load; equal loads keep their order. Cost: linear, some 30 ns each (radix sort).
void sort_heaviest_first(std::vector<LoadOf>& loads);

/// A heap of ranks by load. `Before`: `std::less<>` for the least loaded rank on top, `std::greater<>` for the most
/// loaded; of equal ones the lowest. Cost: log(ranks) for a change.
template <class Before>
class RankHeap {
 public:
  explicit RankHeap(std::vector<double> loads) : loads_{std::move(loads)}, heap_(loads_.size()), place_(loads_.size()) {
    for (std::uint32_t rank = 0; rank < heap_.size(); ++rank) {
      heap_[rank] = rank;
      place_[rank] = rank;
    }
    for (std::size_t place = heap_.size() / 2; place-- > 0;) {
      sink(place);
    }
  }

  /// Expects: there is any rank.
  [[nodiscard]] std::uint32_t top() const { return heap_.front(); }
  [[nodiscard]] double load(std::uint32_t rank) const { return loads_[rank]; }
  [[nodiscard]] const std::vector<double>& loads() const noexcept { return loads_; }

  void set(std::uint32_t rank, double load) {
    loads_[rank] = load;
    sink(place_[rank]);
    rise(place_[rank]);
  }

 private:
  [[nodiscard]] bool is_before(std::uint32_t one, std::uint32_t other) const {
    return loads_[one] == loads_[other] ? one < other : Before{}(loads_[one], loads_[other]);
  }
  void put(std::size_t place, std::uint32_t rank) {
    heap_[place] = rank;
    place_[rank] = static_cast<std::uint32_t>(place);
  }
  void sink(std::size_t place) {
    const std::uint32_t rank = heap_[place];
    while (true) {
      std::size_t child = 2 * place + 1;
      if (child >= heap_.size()) {
        break;
      }
      child += child + 1 < heap_.size() && is_before(heap_[child + 1], heap_[child]) ? 1 : 0;
      if (!is_before(heap_[child], rank)) {
        break;
      }
      put(place, heap_[child]);
      place = child;
    }
    put(place, rank);
  }
  void rise(std::size_t place) {
    const std::uint32_t rank = heap_[place];
    for (; place > 0 && is_before(rank, heap_[(place - 1) / 2]); place = (place - 1) / 2) {
      put(place, heap_[(place - 1) / 2]);
    }
    put(place, rank);
  }

  std::vector<double> loads_;
  std::vector<std::uint32_t> heap_;
  std::vector<std::uint32_t> place_;  ///< By rank, in `heap_`.
};

}  // namespace plait::data::balance::detail
