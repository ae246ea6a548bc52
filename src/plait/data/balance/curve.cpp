// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/curve.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/data/balance/detail/movable.hpp"
#include "plait/data/balance/detail/placing.hpp"
#include "plait/data/balance/objective.hpp"
#include "plait/data/hilbert.hpp"

namespace plait::data::balance {
namespace {

/// Sums of a row from its beginning, and how far a part may reach.
class Row {
 public:
  Row(std::span<const double> loads, std::span<const double> background)
      : sums_(loads.size() + 1, 0.0), background_{background} {
    std::partial_sum(loads.begin(), loads.end(), sums_.begin() + 1);
  }

  [[nodiscard]] std::size_t size() const { return sums_.size() - 1; }
  [[nodiscard]] double sum() const { return sums_.back(); }
  /// The place where the sum comes nearest to `target`.
  [[nodiscard]] std::size_t nearest(double target) const {
    const auto after = std::ranges::lower_bound(sums_, target);
    if (after == sums_.end()) {
      return size();
    }
    const auto at = static_cast<std::size_t>(after - sums_.begin());
    return at > 0 && target - sums_[at - 1] < sums_[at] - target ? at - 1 : at;
  }
  /// How far part `part` reaches from `begin` when it may have `most`.
  [[nodiscard]] std::size_t reach(std::size_t begin, std::size_t part, double most) const {
    if (background_[part] > most) {
      return begin;
    }
    const auto end = std::upper_bound(
        sums_.begin() + static_cast<std::ptrdiff_t>(begin), sums_.end(), sums_[begin] + (most - background_[part]));
    return std::max(begin, static_cast<std::size_t>(end - sums_.begin()) - 1);
  }
  /// As `reach`, from the end backwards.
  [[nodiscard]] std::size_t reach_back(std::size_t end, std::size_t part, double most) const {
    if (background_[part] > most) {
      return end;
    }
    const auto begin = std::lower_bound(
        sums_.begin(), sums_.begin() + static_cast<std::ptrdiff_t>(end) + 1, sums_[end] - (most - background_[part]));
    return std::min(end, static_cast<std::size_t>(begin - sums_.begin()));
  }
  [[nodiscard]] bool fits(double most) const {
    std::size_t end = 0;
    for (std::size_t part = 0; part < background_.size() && end < size(); ++part) {
      end = reach(end, part, most);
    }
    return end == size();
  }

 private:
  std::vector<double> sums_;
  std::span<const double> background_;
};

/// The smallest largest part, to rounding.
double smallest_most(const Row& row, std::span<const double> background) {
  const double all = row.sum() + std::accumulate(background.begin(), background.end(), 0.0);
  double low = all / static_cast<double>(background.size());  // fits or is the answer
  double high = row.sum() + std::ranges::min(background);     // fits: one part takes all
  if (row.fits(low)) {
    return low;
  }
  constexpr int halvings_max = 60;
  for (int i = 0; i < halvings_max && high - low > 1e-13 * high; ++i) {
    const double middle = low + (high - low) / 2;
    (row.fits(middle) ? high : low) = middle;
  }
  return high;
}

/// The coordinates of the objects as whole numbers, those axes only along which they differ.
std::vector<std::uint64_t> places_on_curve(const Problem& problem) {
  std::array<double, 3> low;
  std::array<double, 3> high;
  low.fill(std::numeric_limits<double>::infinity());
  high.fill(-std::numeric_limits<double>::infinity());
  for (const Object& object : problem.objects) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], object.position[axis]);
      high[axis] = std::max(high[axis], object.position[axis]);
    }
  }
  std::vector<std::size_t> axes;
  double extent = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (high[axis] > low[axis]) {
      axes.push_back(axis);
      extent = std::max(extent, high[axis] - low[axis]);
    }
  }
  std::vector<std::uint64_t> places(problem.objects.size(), 0);
  if (axes.empty()) {
    return places;
  }
  constexpr std::array<unsigned, 4> bits_of{0, 32, 31, 21};
  const unsigned bits = bits_of[axes.size()];
  const double scale = (std::ldexp(1.0, static_cast<int>(bits)) - 1) / extent;
  std::array<std::uint32_t, 3> cell{};
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t k = 0; k < axes.size(); ++k) {
      cell[k] = static_cast<std::uint32_t>((problem.objects[i].position[axes[k]] - low[axes[k]]) * scale);
    }
    places[i] = hilbert_place(std::span{cell}.first(axes.size()), bits);
  }
  return places;
}

/// The ranks in the order of what they have now in `row`, those of a node together. A rank that has nothing stands
/// where its number would put it.
std::vector<std::uint32_t> order_of_ranks(const Problem& problem, const std::vector<std::uint32_t>& row) {
  const std::size_t ranks = problem.rank_count;
  std::vector<double> sums(ranks);
  std::vector<double> counts(ranks);
  for (std::size_t at = 0; at < row.size(); ++at) {
    const std::uint32_t rank = problem.objects[row[at]].rank.value();
    sums[rank] += static_cast<double>(at);
    counts[rank] += 1;
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    sums[rank] = counts[rank] > 0
                     ? sums[rank] / counts[rank]
                     : (static_cast<double>(rank) + 0.5) * static_cast<double>(row.size()) / static_cast<double>(ranks);
  }
  const auto node_of = [&](std::uint32_t rank) {
    return problem.node_of_rank.empty() ? 0 : problem.node_of_rank[rank];
  };
  const std::size_t nodes = problem.node_of_rank.empty() ? 1 : std::ranges::max(problem.node_of_rank) + 1U;
  std::vector<double> node_sums(nodes);
  std::vector<double> node_counts(nodes);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    node_sums[node_of(rank)] += sums[rank];
    node_counts[node_of(rank)] += 1;
  }
  std::vector<std::uint32_t> order(ranks);
  std::iota(order.begin(), order.end(), 0U);
  const auto key = [&](std::uint32_t rank) {
    const std::uint32_t node = node_of(rank);
    return std::tuple{node_sums[node] / node_counts[node], node, sums[rank], rank};
  };
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  return order;
}

std::vector<std::size_t> split_proportionally(std::span<const double> loads, std::span<const double> background) {
  const Row row{loads, background};
  const double all = row.sum() + std::accumulate(background.begin(), background.end(), 0.0);
  std::vector<std::size_t> ends;
  double passed = 0;
  for (std::size_t part = 0; part < background.size(); ++part) {
    passed += background[part];
    const double target = all * static_cast<double>(part + 1) / static_cast<double>(background.size()) - passed;
    ends.push_back(std::max(ends.empty() ? 0 : ends.back(), row.nearest(target)));
  }
  ends.back() = row.size();
  return ends;
}

}  // namespace

std::vector<std::size_t> split_row(std::span<const double> loads, std::span<const double> background) {
  expect(!background.empty(), "one part at least");
  const Row row{loads, background};
  // Sums are rounded: without room for that, the last part might be left with a whole load too many.
  const double most = smallest_most(row, background) + 1e-14 * row.sum() * std::sqrt(static_cast<double>(loads.size()));
  const std::size_t parts = background.size();
  std::vector<std::size_t> earliest(parts, row.size());  // The least that parts up to this one must take.
  for (std::size_t part = parts - 1; part > 0; --part) {
    earliest[part - 1] = row.reach_back(earliest[part], part, most);
  }
  std::vector<std::size_t> ends = split_proportionally(loads, background);
  std::size_t begin = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t furthest = row.reach(begin, part, most);
    ends[part] = std::clamp(ends[part], std::min(std::max(begin, earliest[part]), furthest), furthest);
    begin = ends[part];
  }
  ends.back() = row.size();
  return ends;
}

Curve::Curve(Settings& settings) {
  constexpr std::array<std::string_view, 2> splits{"optimal", "proportional"};
  options_.split = static_cast<CurveOptions::Split>(settings.choice("split", splits));
}

std::string Curve::name() const {
  return options_.split == CurveOptions::Split::optimal ? "curve" : "curve:split=proportional";
}

Decision Curve::decide(const Problem& problem) const {
  check(problem);
  const detail::Movable movable = detail::movable(problem);
  Decision decision{.placement = present_placement(problem)};
  if (!movable.has_load) {
    return decision;
  }
  const std::vector<std::uint64_t> places = places_on_curve(problem);
  std::vector<std::uint32_t> row = movable.objects;
  std::ranges::stable_sort(row, [&](std::uint32_t a, std::uint32_t b) { return places[a] < places[b]; });

  const std::vector<std::uint32_t> ranks = order_of_ranks(problem, row);
  std::vector<double> loads(row.size());
  std::ranges::transform(row, loads.begin(), [&](std::uint32_t i) { return problem.objects[i].load; });
  std::vector<double> background(ranks.size());
  std::ranges::transform(ranks, background.begin(), [&](std::uint32_t rank) { return movable.background[rank]; });
  const std::vector<std::size_t> ends = options_.split == CurveOptions::Split::optimal
                                            ? split_row(loads, background)
                                            : split_proportionally(loads, background);

  std::size_t at = 0;
  for (std::size_t part = 0; part < ends.size(); ++part) {
    for (; at < ends[part]; ++at) {
      decision.placement[row[at]] = Rank{ranks[part]};
    }
  }
  detail::respect_memory(problem, decision.placement);
  decision.placement = detail::if_better(problem, std::move(decision.placement));
  detail::count_as_gathered(problem, decision);
  return decision;
}

}  // namespace plait::data::balance
