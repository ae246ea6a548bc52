// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/greedy.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "plait/data/balance/detail/placing.hpp"
#include "plait/data/balance/detail/sharing.hpp"
#include "plait/data/balance/objective.hpp"

namespace plait::data::balance {
namespace {

/// A placement that grows object by object.
class Growing {
 public:
  explicit Growing(const Problem& problem)
      : placement{present_placement(problem)},
        problem_{problem},
        loads_{detail::fixed_loads(problem)},
        bytes_{detail::fixed_bytes(problem)},
        has_limit_{std::isfinite(problem.memory_max)} {
    std::vector<Entry> entries;
    for (std::uint32_t rank = 0; rank < problem.rank_count; ++rank) {
      entries.emplace_back(loads_[rank], rank);
    }
    least_ = Queue{std::greater<>{}, std::move(entries)};
    if (detail::has_edge_costs(problem)) {
      neighbours_.emplace(problem);
      is_placed_.resize(problem.objects.size());
      for (std::size_t i = 0; i < problem.objects.size(); ++i) {
        is_placed_[i] = !problem.objects[i].is_migratable;
      }
    }
  }

  /// False when no rank has room.
  [[nodiscard]] bool place(std::uint32_t object) {
    const std::optional<std::uint32_t> least = least_rank(problem_.objects[object]);
    if (!least) {
      return false;
    }
    const std::uint32_t home = problem_.objects[object].rank.value();
    std::uint32_t best = *least;
    if (neighbours_) {
      best = cheapest(object, best);
    } else if (loads_[home] <= loads_[best] && has_room(home, problem_.objects[object])) {
      best = home;
    }
    loads_[best] += problem_.objects[object].load;
    bytes_[best] += problem_.objects[object].bytes;
    placement[object] = Rank{best};
    least_.emplace(loads_[best], best);
    if (neighbours_) {
      is_placed_[object] = true;
    }
    return true;
  }

  Placement placement;

 private:
  using Entry = std::pair<double, std::uint32_t>;
  using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  [[nodiscard]] bool has_room(std::uint32_t rank, const Object& object) const {
    return !has_limit_ || bytes_[rank] + object.bytes <= problem_.memory_max;
  }

  /// Of the ranks with room, that with least load.
  [[nodiscard]] std::optional<std::uint32_t> least_rank(const Object& object) {
    std::vector<Entry> full;
    std::optional<std::uint32_t> found;
    while (!least_.empty() && !found) {
      const auto [load, rank] = least_.top();
      if (load != loads_[rank]) {
        least_.pop();  // it has got more since
      } else if (has_room(rank, object)) {
        found = rank;
      } else {
        full.push_back(least_.top());
        least_.pop();
      }
    }
    for (const Entry& entry : full) {
      least_.push(entry);
    }
    return found;
  }

  /// Of `least`, the object's own rank and those of the objects that it talks to: where its rank then has least cost.
  [[nodiscard]] std::uint32_t cheapest(std::uint32_t object, std::uint32_t least) const {
    const Object& one = problem_.objects[object];
    const auto cost_at = [&](std::uint32_t rank) {
      double cost = loads_[rank] + one.load;
      for (const auto& [other, bytes] : neighbours_->of(object)) {
        if (is_placed_[other]) {
          cost += bytes * detail::byte_cost(problem_, Rank{rank}, placement[other]);
        }
      }
      return Rank{rank} == one.rank ? cost : cost + one.bytes * problem_.weights.moved;
    };
    std::uint32_t best = least;
    double best_cost = cost_at(least);
    const auto consider = [&](std::uint32_t rank) {
      const double cost = rank == best || !has_room(rank, one) ? best_cost : cost_at(rank);
      if (cost < best_cost || (cost == best_cost && rank == one.rank.value() && has_room(rank, one))) {
        best = rank;
        best_cost = cost;
      }
    };
    consider(one.rank.value());
    for (const auto& [other, bytes] : neighbours_->of(object)) {
      if (is_placed_[other]) {
        consider(placement[other].value());
      }
    }
    return best;
  }

  const Problem& problem_;
  std::vector<double> loads_;
  std::vector<double> bytes_;
  bool has_limit_;
  Queue least_;  ///< With entries that are out of date.
  std::optional<detail::Neighbours> neighbours_;
  std::vector<bool> is_placed_;
};

}  // namespace

Decision Greedy::decide(const Problem& problem) const {
  check(problem);
  Growing growing{problem};
  for (const std::uint32_t object : detail::heaviest_first(problem)) {
    if (!growing.place(object)) {  // too little room: from what is now, which at least exists
      growing.placement = present_placement(problem);
      detail::share_out(problem, growing.placement, 1e-5, 1'000'000);
      return {.placement = detail::if_better(problem, std::move(growing.placement))};
    }
  }
  detail::keep_home(problem, growing.placement);
  return {.placement = detail::if_better(problem, std::move(growing.placement))};
}

}  // namespace plait::data::balance
