// SPDX-License-Identifier: Apache-2.0
#include "pic/parallel/plain_way.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "pic/parallel/exchange_values.hpp"
#include "pic/transfer.hpp"

namespace pic {

namespace balance = plait::data::balance;
using plait::Rank;

template <int D>
PlainWay<D>::PlainWay(Problem<D> problem, const BalanceOptions& options, Ranks& ranks, PoissonOptions poisson)
    : Base{std::move(problem), options.patches_per_rank, ranks, poisson},
      self_{static_cast<std::uint32_t>(ranks.self())},
      balancer_{options.balancer.empty() ? nullptr : balance::make_balancer(options.balancer, options.balancers)},
      balance_steps_{options.balance_steps},
      out_(static_cast<std::size_t>(ranks.count())),
      in_(static_cast<std::size_t>(ranks.count())) {
  for (std::int32_t patch = 0; patch < layout_.patches.count(); ++patch) {
    places_.emplace_back(static_cast<std::uint32_t>(layout_.rank_of(patch)));
    if (places_.back() == self_) {
      problem_.load(patches_.try_emplace(patch, layout_.patches.box(patch), problem_.physics).first->second);
    }
  }
  if (problem_.physics.solve != Solve::nothing) {
    collect_charge();
  }
  solver_.start();
}

/// Copies one tile of each patch between its home and the rank where it is. A patch at home swaps it with the home's.
template <int D>
template <class T>
void PlainWay<D>::hand_over(Tile<D, T> Patch<D>::* tile, To to) {
  using TilesByRank = std::vector<std::vector<Tile<D, T>*>>;
  TilesByRank at_home(out_.size());  // of patches that are elsewhere
  TilesByRank visiting(out_.size());
  for (std::size_t i = 0; i < home_.patches().size(); ++i) {
    const std::int32_t number = home_.numbers()[i];
    const Rank place = places_[static_cast<std::size_t>(number)];
    Tile<D, T>& own = home_.patches()[i].*tile;
    if (place == self_) {
      std::swap(patches_.at(number).*tile, own);
    } else {
      at_home[place.value()].push_back(&own);
    }
  }
  for (auto& [number, patch] : patches_) {
    if (const int home = layout_.rank_of(number); home != ranks_.self()) {
      visiting[static_cast<std::size_t>(home)].push_back(&(patch.*tile));
    }
  }
  exchange_.move<T>(
      ranks_,
      to == To::patches ? at_home : visiting,
      [](const Tile<D, T>* one, plait::Bytes& bytes) { pack(*one, one->box(), bytes); },
      to == To::patches ? visiting : at_home,
      [](Tile<D, T>* one, std::span<const std::byte> bytes) { return unpack(*one, one->box(), bytes); });
}

template <int D>
void PlainWay<D>::send_leavers() {
  for (plait::Bytes& bytes : out_) {
    bytes.clear();
  }
  for (const Departure<D>& departure : by_part<D>(leavers_, layout_.patches)) {
    const Rank place = places_[static_cast<std::size_t>(departure.part)];
    if (place == self_) {
      patches_.at(departure.part).take(departure.particles);
      continue;
    }
    const auto bytes = std::as_bytes(std::span{departure.particles});
    out_[place.value()].insert(out_[place.value()].end(), bytes.begin(), bytes.end());
  }
  leavers_.clear();
  ranks_.exchange_unknown(out_, in_);
  for (const plait::Bytes& bytes : in_) {
    std::vector<Migrant<D>> arrivals(bytes.size() / sizeof(Migrant<D>));
    std::ranges::copy(bytes, std::as_writable_bytes(std::span{arrivals}).begin());
    for (const Departure<D>& arrival : by_part<D>(arrivals, layout_.patches)) {
      patches_.at(arrival.part).take(arrival.particles);
    }
  }
}

template <int D>
void PlainWay<D>::collect_charge() {
  {
    const Timer timer{profile_.particles};
    for (auto& [number, patch] : patches_) {
      patch.deposit_charge(problem_.physics);
    }
  }
  const Timer timer{profile_.hand_over};
  solver_.clear();
  hand_over(&Patch<D>::charge, To::home);
  home_.give_charges(solver_);
}

template <int D>
void PlainWay<D>::step() {
  if (balancer_ != nullptr && steps_ > 0 && steps_ % balance_steps_ == 0) {
    balance();
  }
  if (problem_.physics.forces == Forces::fields) {
    const Timer timer{profile_.hand_over};
    home_.take_fields(solver_);
    hand_over(&Patch<D>::fields, To::patches);
  }
  {
    const Timer timer{profile_.particles};
    for (auto& [number, patch] : patches_) {
      problem_.move_particles(patch, steps_, leavers_);
    }
  }
  {
    const Timer timer{profile_.migration};
    send_leavers();
  }
  if (problem_.physics.solve == Solve::electrostatic) {
    collect_charge();
  } else if (problem_.physics.solve == Solve::electromagnetic) {
    const Timer timer{profile_.hand_over};
    solver_.clear();
    hand_over(&Patch<D>::current, To::home);
    home_.give_currents(solver_);
  }
  const Timer timer{profile_.solve};
  solver_.step(++steps_);
}

template <int D>
void PlainWay<D>::balance() {
  BalanceNote note{.step = steps_};
  balance::Problem problem;
  balance::Decision decision;
  {
    const Timer timer{note.decided};
    std::vector<std::int64_t> particles(places_.size(), 0);
    for (const auto& [number, patch] : patches_) {
      particles[static_cast<std::size_t>(number)] = static_cast<std::int64_t>(patch.particle_count());
    }
    ranks_.sum(particles);
    problem.rank_count = static_cast<std::uint32_t>(ranks_.count());
    for (std::size_t patch = 0; patch < places_.size(); ++patch) {
      const auto count = static_cast<double>(particles[patch]);
      problem.objects.push_back({.id = plait::data::ElementId{patch},
                                 .rank = places_[patch],
                                 .load = count,
                                 .bytes = count * sizeof(Migrant<D>),
                                 .position = layout_.patches.box(static_cast<std::int32_t>(patch)).centre()});
    }
    decision = balancer_->decide(problem);
  }
  note.imbalance_before = balance::score(problem, places_).imbalance();
  const balance::Score score = balance::score(problem, decision.placement);
  note.imbalance_predicted = score.imbalance();
  note.imbalance_bound = score.load_mean > 0 ? balance::load_bound(problem) / score.load_mean - 1 : 0;
  note.moved = score.objects_moved;
  note.bytes_moved = score.bytes_moved;
  {
    const Timer timer{note.migrated};
    migrate(decision.placement);
  }
  profile_.migration += note.decided + note.migrated;
  notes_.push_back(note);
}

template <int D>
void PlainWay<D>::migrate(const balance::Placement& placement) {
  std::vector<std::vector<Patch<D>>> leaving(out_.size());
  for (auto at = patches_.begin(); at != patches_.end();) {
    const Rank place = placement[static_cast<std::size_t>(at->first)];
    if (place == self_) {
      ++at;
    } else {
      leaving[place.value()].push_back(std::move(at->second));
      at = patches_.erase(at);
    }
  }
  for (Patch<D>& arrived : exchange_values(ranks_, leaving)) {
    const std::int32_t number = layout_.patches.part_of_cell(arrived.cells.low);
    Patch<D>& patch = patches_.try_emplace(number, arrived.cells, problem_.physics).first->second;
    patch.species = std::move(arrived.species);
    patch.absorbed = arrived.absorbed;
  }
  places_ = placement;
}

template <int D>
double PlainWay<D>::gauss_error() {
  if (problem_.physics.solve == Solve::nothing) {
    return 0;
  }
  collect_charge();
  return solver_.gauss_error();
}

template <int D>
std::vector<const Patch<D>*> PlainWay<D>::local_patches() {
  std::vector<const Patch<D>*> patches;
  for (const auto& [number, patch] : patches_) {
    patches.push_back(&patch);
  }
  return patches;
}

template <int D>
void PlainWay<D>::go_on(std::uint64_t steps, std::vector<Migrant<D>> particles, std::uint64_t absorbed) {
  steps_ = steps;
  patches_.begin()->second.absorbed += absorbed;
  leavers_ = std::move(particles);
  send_leavers();
}

template class PlainWay<2>;
template class PlainWay<3>;

}  // namespace pic
