// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/balancers/greedy.hpp"

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "plait/data/balance/detail/load_order.hpp"
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
        bytes_{detail::fixed_bytes(problem)},
        least_{detail::fixed_loads(problem)} {
    if (detail::has_edge_costs(problem)) {
      neighbours_.emplace(problem);
      for (const Object& object : problem.objects) {
        is_placed_.push_back(!object.is_migratable);
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
    } else if (least_.load(home) <= least_.load(best) && has_room(home, problem_.objects[object])) {
      best = home;
    }
    bytes_[best] += problem_.objects[object].bytes;
    placement[object] = Rank{best};
    least_.set(best, least_.load(best) + problem_.objects[object].load);
    if (neighbours_) {
      is_placed_[object] = true;
    }
    return true;
  }

  Placement placement;

 private:
  [[nodiscard]] bool has_room(std::uint32_t rank, const Object& object) const {
    return bytes_[rank] + object.bytes <= problem_.memory_max;
  }

  /// The rank with least load of those with room.
  [[nodiscard]] std::optional<std::uint32_t> least_rank(const Object& object) const {
    if (has_room(least_.top(), object)) {
      return least_.top();
    }
    std::optional<std::uint32_t> found;
    for (std::uint32_t rank = 0; rank < bytes_.size(); ++rank) {
      if (has_room(rank, object) && (!found || least_.load(rank) < least_.load(*found))) {
        found = rank;
      }
    }
    return found;
  }

  /// Of `least`, the object's present rank and those of its neighbours: the one where it costs least.
  [[nodiscard]] std::uint32_t cheapest(std::uint32_t object, std::uint32_t least) const {
    const Object& one = problem_.objects[object];
    const auto cost_at = [&](std::uint32_t rank) {
      double cost = least_.load(rank) + one.load;
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
  std::vector<double> bytes_;
  detail::RankHeap<std::less<>> least_;
  std::optional<detail::Neighbours> neighbours_;
  std::vector<bool> is_placed_;
};

}  // namespace

Decision Greedy::decide(const Problem& problem) const {
  check(problem);
  Growing growing{problem};
  for (const std::uint32_t object : detail::heaviest_first(problem)) {
    if (!growing.place(object)) {  // too little room: start from the present placement
      growing.placement = present_placement(problem);
      detail::share_out(problem, growing.placement);
      return {.placement = detail::if_better(problem, std::move(growing.placement))};
    }
  }
  detail::keep_home(problem, growing.placement);
  return {.placement = detail::if_better(problem, std::move(growing.placement))};
}

}  // namespace plait::data::balance
