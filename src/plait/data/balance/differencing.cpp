// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/differencing.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <queue>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/data/balance/detail/placing.hpp"
#include "plait/data/balance/detail/sharing.hpp"
#include "plait/data/balance/objective.hpp"

namespace plait::data::balance {
namespace {

constexpr std::uint32_t nothing = ~0U;

/// One place of a row: a set of objects, as a chain.
struct Bin {
  double load = 0;  ///< Above that of the lightest place of the row.
  std::uint32_t first = nothing;
  std::uint32_t last = nothing;
  Rank rank;  ///< Whose fixed load is in it, if anyone's.
};

bool is_heavier(const Bin& one, const Bin& other) {
  return one.load > other.load;
}

/// The places of a row that have anything, the heaviest first; there are others, which have nothing, behind them.
using Row = std::vector<Bin>;

class Rows {
 public:
  explicit Rows(const Problem& problem) : width_{problem.rank_count}, next_(problem.objects.size(), nothing) {
    const std::vector<double> fixed = detail::fixed_loads(problem);
    if (std::ranges::any_of(fixed, [](double load) { return load > 0; })) {
      Row row;
      for (std::uint32_t rank = 0; rank < width_; ++rank) {
        row.push_back({.load = fixed[rank], .rank = Rank{rank}});
      }
      std::ranges::stable_sort(row, is_heavier);
      add(std::move(row));
    }
    for (const std::uint32_t object : detail::heaviest_first(problem)) {
      singles_.push_back({.load = problem.objects[object].load, .first = object, .last = object});
    }
  }

  /// The last row, or none if there are no objects.
  [[nodiscard]] Row combine() {
    Row one = pop();
    for (Row other = pop(); !other.empty(); other = pop()) {
      add(joined(std::move(one), std::move(other)));
      one = pop();
    }
    return one;
  }

  /// Sets the places of the objects of a bin.
  void place(const Bin& bin, Rank rank, Placement& placement) const {
    for (std::uint32_t object = bin.first; object != nothing; object = next_[object]) {
      placement[object] = rank;
    }
  }

 private:
  /// An object where there is one rank only: an even row.
  [[nodiscard]] static Bin even(Bin bin) {
    bin.load = 0;
    return bin;
  }

  void add(Row row) {
    if (row.size() == width_) {
      const double least = row.back().load;
      for (Bin& bin : row) {
        bin.load -= least;
      }
    }
    const double spread = row.front().load;  // the lightest place has 0
    order_.emplace(spread, -static_cast<std::ptrdiff_t>(rows_.size()));
    rows_.push_back(std::move(row));
  }

  /// The most uneven: of those that have been made, or the next object. Empty when there is none.
  [[nodiscard]] Row pop() {
    if (next_single_ < singles_.size() && (order_.empty() || singles_[next_single_].load >= order_.top().first)) {
      return {width_ > 1 ? singles_[next_single_++] : even(singles_[next_single_++])};
    }
    if (order_.empty()) {
      return {};
    }
    const auto place = static_cast<std::size_t>(-order_.top().second);
    order_.pop();
    return std::move(rows_[place]);
  }

  /// The heaviest place of one with the lightest of the other, and so on.
  [[nodiscard]] Row joined(Row one, Row other) {
    if (one.size() + other.size() <= width_) {  // every place meets one that has nothing
      const auto middle = static_cast<std::ptrdiff_t>(one.size());
      const bool is_in_order = !is_heavier(other.front(), one.back());
      one.insert(one.end(), other.begin(), other.end());
      if (!is_in_order) {
        std::inplace_merge(one.begin(), one.begin() + middle, one.end(), is_heavier);
      }
      return one;
    }
    const std::size_t alone = width_ - other.size();  // places of `one` that meet nothing
    const std::size_t met = one.size() - alone;       // the others meet the lightest of `other`
    for (std::size_t i = 0; i < met; ++i) {
      chain(one[alone + i], other[other.size() - 1 - i]);
    }
    const auto first_met = static_cast<std::ptrdiff_t>(alone);
    std::sort(one.begin() + first_met, one.end(), is_heavier);
    std::inplace_merge(one.begin(), one.begin() + first_met, one.end(), is_heavier);
    const auto middle = static_cast<std::ptrdiff_t>(one.size());
    one.insert(one.end(), other.begin(), other.end() - static_cast<std::ptrdiff_t>(met));
    std::inplace_merge(one.begin(), one.begin() + middle, one.end(), is_heavier);
    return one;
  }

  void chain(Bin& one, const Bin& other) {
    one.load += other.load;
    one.rank = one.rank ? one.rank : other.rank;
    if (one.first == nothing) {
      one.first = other.first;
      one.last = other.last;
    } else if (other.first != nothing) {
      next_[one.last] = other.first;
      one.last = other.last;
    }
  }

  std::size_t width_;
  std::vector<std::uint32_t> next_;  ///< By object: the next of its bin.
  std::vector<Bin> singles_;         ///< Objects that are in no row yet, the heaviest first.
  std::size_t next_single_ = 0;
  std::vector<Row> rows_;
  std::priority_queue<std::pair<double, std::ptrdiff_t>> order_;  ///< Spread; of equal ones the row that came first.
};

Placement differenced(const Problem& problem) {
  Rows rows{problem};
  Row row = rows.combine();
  Placement placement = present_placement(problem);
  std::uint32_t next = 0;  // with any fixed load, all places have their ranks
  for (const Bin& bin : row) {
    rows.place(bin, bin.rank ? bin.rank : Rank{next++}, placement);
  }
  detail::keep_home(problem, placement);
  return placement;
}

}  // namespace

std::string Differencing::name() const {
  return fmt::format("differencing:tries={}", options_.tries);
}

Decision Differencing::decide(const Problem& problem) const {
  check(problem);
  Placement placement = differenced(problem);
  if (options_.tries > 0) {
    detail::share_out(problem, placement, {.tolerance = 1e-5, .tries = options_.tries});
  }
  placement = detail::if_better(problem, std::move(placement));
  if (std::isfinite(problem.memory_max) && placement == present_placement(problem)) {
    detail::share_out(problem, placement, {});
    placement = detail::if_better(problem, std::move(placement));
  }
  return {.placement = std::move(placement)};
}

}  // namespace plait::data::balance
