// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/diffusion.hpp"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "plait/data/balance/detail/movable.hpp"
#include "plait/data/balance/detail/placing.hpp"
#include "plait/data/balance/objective.hpp"

namespace plait::data::balance {
namespace {

constexpr std::uint64_t bytes_of_load = 8;
constexpr std::uint64_t bytes_of_order = 8 + 8;  // An object's id and load, in the message that announces it.

/// A pair of neighbouring ranks, and what shall go from the lower to the higher.
struct Link {
  std::uint32_t low;
  std::uint32_t high;
  double weight = 0;
  double flow = 0;
  friend auto operator<=>(const Link& a, const Link& b) {
    return std::pair{a.low, a.high} <=> std::pair{b.low, b.high};
  }
  friend bool operator==(const Link& a, const Link& b) { return a.low == b.low && a.high == b.high; }
};

std::vector<Link> links_between(const Problem& problem, const Placement& placement) {
  std::vector<Link> links;
  const auto join = [&](std::uint32_t a, std::uint32_t b) {
    if (a != b) {
      links.push_back({std::min(a, b), std::max(a, b)});
    }
  };
  const std::uint32_t ranks = problem.rank_count;
  for (const Edge& edge : problem.edges) {
    join(placement[edge.first].value(), placement[edge.second].value());
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    join(rank, (rank + 1) % ranks);
    for (std::uint32_t bit = 1; problem.edges.empty() && bit < ranks; bit *= 2) {
      if ((rank ^ bit) < ranks) {
        join(rank, rank ^ bit);
      }
    }
  }
  std::ranges::sort(links);
  const auto rest = std::ranges::unique(links);
  links.erase(rest.begin(), rest.end());
  std::vector<std::uint32_t> degrees(ranks);
  for (const Link& link : links) {
    ++degrees[link.low];
    ++degrees[link.high];
  }
  for (Link& link : links) {
    link.weight = 1.0 / (1 + std::max(degrees[link.low], degrees[link.high]));
  }
  return links;
}

/// What must go over each link so that all loads become equal, nearly.
void find_flows(std::vector<Link>& links, std::vector<double> loads, std::uint32_t sweeps) {
  // The scheme converges for every momentum below 2. This one is right for graphs some 20 links across: the error falls
  // by sqrt(0.8) a sweep.
  constexpr double momentum = 1.8;
  std::vector<double> passed(links.size());
  for (std::uint32_t sweep = 0; sweep < sweeps; ++sweep) {
    const std::vector<double> before = loads;
    for (std::size_t i = 0; i < links.size(); ++i) {
      Link& link = links[i];
      const double even = link.weight * (before[link.low] - before[link.high]);
      passed[i] = sweep == 0 ? even : momentum * even + (momentum - 1) * passed[i];
      link.flow += passed[i];
      loads[link.low] -= passed[i];
      loads[link.high] += passed[i];
    }
  }
}

/// Moves objects along flows, one iteration: every rank at once, each from what it had at the beginning.
class Mover {
 public:
  Mover(const Problem& problem, const detail::Neighbours& neighbours, Placement& placement)
      : problem_{problem},
        neighbours_{neighbours},
        placement_{placement},
        before_{placement},
        gains_(placement.size()) {
    objects_of_.resize(problem.rank_count);
    for (std::uint32_t i = 0; i < placement.size(); ++i) {
      if (problem.objects[i].is_migratable) {
        objects_of_[placement[i].value()].push_back(i);
      }
    }
  }

  /// Returns how many objects went.
  std::uint64_t move(std::uint32_t from, std::uint32_t to, double flow) {
    std::uint64_t moved = 0;
    Candidates candidates = rate(from, to);
    std::uint32_t too_large = none;  // Of those that do not fit, the lightest.
    while (!candidates.empty() && flow > 0) {
      const auto [gain, load, order] = candidates.top();
      candidates.pop();
      const std::uint32_t object = ~order;
      if (placement_[object] != Rank{from} || gain != gains_[object]) {
        continue;  // Gone, or rated again since.
      }
      if (load > flow) {
        too_large = too_large == none || load < problem_.objects[too_large].load ? object : too_large;
        continue;
      }
      go(object, to, candidates);
      flow -= load;
      ++moved;
    }
    // One that overshoots, if that leaves less than going without it.
    if (too_large != none && flow > 0 && problem_.objects[too_large].load < 2 * flow) {
      placement_[too_large] = Rank{to};
      ++moved;
    }
    return moved;
  }

 private:
  static constexpr std::uint32_t none = ~0U;
  /// Gain in bytes, load, and the object's number turned around, so that of equal ones the first comes first.
  using Candidates = std::priority_queue<std::tuple<double, double, std::uint32_t>>;

  Candidates rate(std::uint32_t from, std::uint32_t to) {
    Candidates candidates;
    for (const std::uint32_t object : objects_of_[from]) {
      if (placement_[object] != Rank{from} || problem_.objects[object].load <= 0) {
        continue;
      }
      double gain = 0;
      for (const auto& [other, bytes] : neighbours_.of(object)) {
        gain += placement_[other] == Rank{to} ? bytes : 0.0;
        gain -= placement_[other] == Rank{from} ? bytes : 0.0;
      }
      gains_[object] = gain;
      candidates.emplace(gain, problem_.objects[object].load, ~object);
    }
    return candidates;
  }

  void go(std::uint32_t object, std::uint32_t to, Candidates& candidates) {
    const Rank from = placement_[object];
    placement_[object] = Rank{to};
    for (const auto& [other, bytes] : neighbours_.of(object)) {
      if (placement_[other] == from && before_[other] == from && problem_.objects[other].is_migratable) {
        gains_[other] += 2 * bytes;
        candidates.emplace(gains_[other], problem_.objects[other].load, ~other);
      }
    }
  }

  const Problem& problem_;
  const detail::Neighbours& neighbours_;
  Placement& placement_;
  const Placement before_;
  std::vector<double> gains_;
  std::vector<std::vector<std::uint32_t>> objects_of_;
};

}  // namespace

Diffusion::Diffusion(Settings& settings)
    : options_{.iterations = settings.count("iterations", DiffusionOptions{}.iterations, 1),
               .sweeps = settings.count("sweeps", DiffusionOptions{}.sweeps, 1)} {}

std::string Diffusion::name() const {
  std::string text = "diffusion";
  if (options_.iterations != DiffusionOptions{}.iterations) {
    text += fmt::format(":iterations={}", options_.iterations);
  }
  if (options_.sweeps != DiffusionOptions{}.sweeps) {
    text += fmt::format("{}sweeps={}", text.size() > 9 ? "," : ":", options_.sweeps);
  }
  return text;
}

Decision Diffusion::decide(const Problem& problem) const {
  check(problem);
  Decision decision{.placement = present_placement(problem)};
  if (problem.rank_count == 1 || !detail::movable(problem).has_load) {
    return decision;
  }
  const detail::Neighbours neighbours{problem};
  Placement placement = decision.placement;
  double best = score(problem, placement).cost_max;
  for (std::uint32_t iteration = 0; iteration < options_.iterations; ++iteration) {
    std::vector<Link> links = links_between(problem, placement);
    find_flows(links, rank_loads(problem, placement), options_.sweeps);
    // The largest first: what is left of a rank's objects for a small one does not matter much.
    std::ranges::stable_sort(links, [](const Link& a, const Link& b) { return std::abs(a.flow) > std::abs(b.flow); });
    Mover mover{problem, neighbours, placement};
    std::uint64_t moved = 0;
    for (const Link& link : links) {
      moved += link.flow > 0 ? mover.move(link.low, link.high, link.flow) : mover.move(link.high, link.low, -link.flow);
    }
    decision.rounds += options_.sweeps + 1;
    decision.messages += 2 * links.size() * options_.sweeps + links.size();
    decision.message_bytes += 2 * links.size() * options_.sweeps * bytes_of_load + moved * bytes_of_order;
    Placement proposed = placement;
    detail::respect_memory(problem, proposed);
    const double cost = score(problem, proposed).cost_max;
    if (cost < best) {
      best = cost;
      decision.placement = std::move(proposed);
    }
    if (moved == 0) {
      break;
    }
  }
  return decision;
}

}  // namespace plait::data::balance
