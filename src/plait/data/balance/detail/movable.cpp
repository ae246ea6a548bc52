// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/detail/movable.hpp"

#include <algorithm>
#include <bit>

#include "plait/data/balance/objective.hpp"

namespace plait::data::balance::detail {
namespace {

/// Loads and memory of the ranks while objects are moved about.
class Ledger {
 public:
  Ledger(const Problem& problem, Placement& placement)
      : problem_{problem}, placement_{placement}, loads_{rank_loads(problem, placement)}, memory_(loads_.size()) {
    std::vector<double> present(loads_.size());
    for (std::size_t i = 0; i < placement.size(); ++i) {
      memory_[placement[i].value()] += problem.objects[i].bytes;
      present[problem.objects[i].rank.value()] += problem.objects[i].bytes;
    }
    limits_ = present;
    std::ranges::transform(limits_, limits_.begin(), [&](double now) { return std::max(now, problem.memory_max); });
  }

  [[nodiscard]] bool is_over(Rank rank) const { return memory_[rank.value()] > limits_[rank.value()]; }

  void place(std::uint32_t object, Rank to) {
    const Object& what = problem_.objects[object];
    loads_[placement_[object].value()] -= what.load;
    memory_[placement_[object].value()] -= what.bytes;
    loads_[to.value()] += what.load;
    memory_[to.value()] += what.bytes;
    placement_[object] = to;
  }

  /// The rank with least load that has room for it; nothing when none has.
  [[nodiscard]] Rank roomiest(std::uint32_t object) const {
    Rank best;
    for (std::uint32_t rank = 0; rank < problem_.rank_count; ++rank) {
      const bool has_room = memory_[rank] + problem_.objects[object].bytes <= problem_.memory_max;
      if (has_room && (!best || loads_[rank] < loads_[best.value()])) {
        best = Rank{rank};
      }
    }
    return best;
  }

 private:
  const Problem& problem_;
  Placement& placement_;
  std::vector<double> loads_;
  std::vector<double> memory_;
  std::vector<double> limits_;
};

}  // namespace

Movable movable(const Problem& problem) {
  Movable found;
  found.background = problem.background;
  found.background.resize(problem.rank_count, 0.0);
  found.objects.reserve(problem.objects.size());
  for (std::uint32_t i = 0; i < problem.objects.size(); ++i) {
    const Object& object = problem.objects[i];
    if (object.is_migratable) {
      found.objects.push_back(i);
      found.has_load = found.has_load || object.load > 0;
    } else {
      found.background[object.rank.value()] += object.load;
    }
  }
  return found;
}

void respect_memory(const Problem& problem, Placement& placement) {
  Ledger ledger{problem, placement};
  std::vector<std::uint32_t> arrived;  // On ranks that keep too much: what came from elsewhere.
  for (std::uint32_t i = 0; i < placement.size(); ++i) {
    if (placement[i] != problem.objects[i].rank && problem.objects[i].bytes > 0) {
      arrived.push_back(i);
    }
  }
  std::ranges::stable_sort(
      arrived, [&](std::uint32_t a, std::uint32_t b) { return problem.objects[a].bytes > problem.objects[b].bytes; });
  for (const std::uint32_t object : arrived) {
    if (ledger.is_over(placement[object])) {
      if (const Rank to = ledger.roomiest(object)) {
        ledger.place(object, to);
      }
    }
  }
  // An object that no rank has room for goes home, which may push out others; each goes home once at most.
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (const std::uint32_t object : arrived) {
      const Rank home = problem.objects[object].rank;
      if (placement[object] != home && ledger.is_over(placement[object])) {
        ledger.place(object, home);
        is_changed = true;
      }
    }
  }
}

void count_as_gathered(const Problem& problem, Decision& decision) {
  constexpr std::uint64_t bytes_of_object = 8 + 8 + 8 + 24;  // id, load, bytes, position
  constexpr std::uint64_t bytes_of_edge = 8 + 8 + 8;
  constexpr std::uint64_t bytes_of_place = 4;
  const auto levels = static_cast<std::uint32_t>(std::bit_width(problem.rank_count - 1U));
  decision.rounds = 2 * levels;
  decision.messages = 2 * (static_cast<std::uint64_t>(problem.rank_count) - 1);
  // In a tree a rank is half of the levels away from the root, in the mean.
  decision.message_bytes =
      (problem.objects.size() * (bytes_of_object + bytes_of_place) + problem.edges.size() * bytes_of_edge) * levels / 2;
}

}  // namespace plait::data::balance::detail
