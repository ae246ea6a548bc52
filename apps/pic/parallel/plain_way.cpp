// SPDX-License-Identifier: Apache-2.0
#include "pic/parallel/plain_way.hpp"

#include <algorithm>
#include <span>

#include "pic/parallel/patch_parcel.hpp"
#include "pic/timer.hpp"
#include "pic/transfer.hpp"

namespace pic {

namespace balance = plait::data::balance;
using plait::Rank;

template <int D>
PlainWay<D>::PlainWay(Problem<D> problem, const BalanceOptions& options, Ranks& ranks, PoissonOptions poisson)
    : Base{std::move(problem), options.patches_per_rank, ranks, poisson},
      lender_{layout_, home_, ranks},
      balancer_{options.balancer.empty() ? nullptr : balance::make_balancer(options.balancer)},
      balance_steps_{options.balance_steps},
      out_(static_cast<std::size_t>(ranks.count())),
      in_(static_cast<std::size_t>(ranks.count())) {
  for (std::int32_t patch = 0; patch < layout_.patches.count(); ++patch) {
    places_.emplace_back(static_cast<std::uint32_t>(layout_.rank_of(patch)));
    if (layout_.rank_of(patch) == ranks.self()) {
      numbers_.push_back(patch);
      load(problem_, patches_.emplace_back(layout_.patches.box(patch), problem_.physics));
    }
  }
  if (problem_.physics.solve != Solve::nothing) {
    collect_charge();
  }
  solver_.start();
}

template <int D>
PlainWay<D>::~PlainWay() = default;

template <int D>
Patch<D>& PlainWay<D>::local(std::int32_t patch) {
  const auto found = std::lower_bound(numbers_.begin(), numbers_.end(), patch);
  plait::expect(found != numbers_.end() && *found == patch, "the patch is here");
  return patches_[static_cast<std::size_t>(found - numbers_.begin())];
}

template <int D>
std::vector<Patch<D>*> PlainWay<D>::here() {
  std::vector<Patch<D>*> patches;
  for (Patch<D>& patch : patches_) {
    patches.push_back(&patch);
  }
  return patches;
}

template <int D>
void PlainWay<D>::hand_leavers_over() {
  for (plait::Bytes& bytes : out_) {
    bytes.clear();
  }
  for (const Departure<D>& departure : by_part<D>(leavers_, layout_.patches)) {
    const Rank place = places_[static_cast<std::size_t>(departure.part)];
    if (place.value() == static_cast<std::uint32_t>(ranks_.self())) {
      take<D>(local(departure.part), departure.particles);
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
      take<D>(local(arrival.part), arrival.particles);
    }
  }
}

template <int D>
void PlainWay<D>::collect_charge() {
  {
    const Timer timer{profile_.particles};
    for (Patch<D>& patch : patches_) {
      deposit_charge(patch, problem_.physics);
    }
  }
  const Timer timer{profile_.hand_over};
  solver_.clear();
  lender_.give_back(&Patch<D>::charge, places_, here());
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
    lender_.lend(&Patch<D>::fields, places_, here());
  }
  {
    const Timer timer{profile_.particles};
    for (Patch<D>& patch : patches_) {
      move_particles(problem_, patch, steps_, leavers_);
    }
  }
  {
    const Timer timer{profile_.migration};
    hand_leavers_over();
  }
  if (problem_.physics.solve == Solve::electrostatic) {
    collect_charge();
  } else if (problem_.physics.solve == Solve::electromagnetic) {
    const Timer timer{profile_.hand_over};
    solver_.clear();
    lender_.give_back(&Patch<D>::current, places_, here());
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
    for (std::size_t i = 0; i < patches_.size(); ++i) {
      particles[static_cast<std::size_t>(numbers_[i])] = static_cast<std::int64_t>(patches_[i].particle_count());
    }
    ranks_.sum(particles);
    problem.rank_count = static_cast<std::uint32_t>(ranks_.count());
    for (std::int32_t patch = 0; patch < layout_.patches.count(); ++patch) {
      const auto count = static_cast<double>(particles[static_cast<std::size_t>(patch)]);
      problem.objects.push_back(balance_object<D>(layout_.patches, patch, places_[static_cast<std::size_t>(patch)]));
      problem.objects.back().load = count;
      problem.objects.back().bytes = count * sizeof(Migrant<D>);
    }
    decision = balancer_->decide(problem);
  }
  note.imbalance_before = balance::score(problem, places_).imbalance();
  const balance::Score score = balance::score(problem, decision.placement);
  note.imbalance_predicted = score.imbalance();
  note.imbalance_bound = score.load_mean > 0 ? balance::load_bound(problem) / score.load_mean - 1 : 0;
  note.moved = score.objects_moved;
  {
    const Timer timer{note.migrated};
    migrate(decision.placement);
  }
  profile_.migration += note.decided + note.migrated;
  notes_.push_back(note);
}

template <int D>
void PlainWay<D>::migrate(const balance::Placement& placement) {
  for (plait::Bytes& bytes : out_) {
    bytes.clear();
  }
  std::vector<Patch<D>> staying;
  std::vector<std::int32_t> numbers;
  for (std::size_t i = 0; i < patches_.size(); ++i) {
    const Rank place = placement[static_cast<std::size_t>(numbers_[i])];
    if (place.value() == static_cast<std::uint32_t>(ranks_.self())) {
      staying.push_back(std::move(patches_[i]));
      numbers.push_back(numbers_[i]);
    } else {
      append_packed(PatchParcel<D>{numbers_[i], patches_[i].absorbed, std::move(patches_[i].species)},
                    out_[place.value()]);
    }
  }
  ranks_.exchange_unknown(out_, in_);
  patches_ = std::move(staying);
  numbers_ = std::move(numbers);
  for (const plait::Bytes& bytes : in_) {
    for_each_packed<PatchParcel<D>>(bytes, [this](PatchParcel<D> parcel) {
      const auto at = std::lower_bound(numbers_.begin(), numbers_.end(), parcel.number) - numbers_.begin();
      Patch<D> patch{layout_.patches.box(parcel.number), problem_.physics};
      patch.species = std::move(parcel.species);
      patch.absorbed = parcel.absorbed;
      patches_.insert(patches_.begin() + at, std::move(patch));
      numbers_.insert(numbers_.begin() + at, parcel.number);
    });
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
  const std::vector<Patch<D>*> all = here();
  return {all.begin(), all.end()};
}

template <int D>
void PlainWay<D>::go_on(std::uint64_t steps, std::vector<Migrant<D>> particles, std::uint64_t absorbed) {
  steps_ = steps;
  patches_.front().absorbed += absorbed;
  leavers_ = std::move(particles);
  hand_leavers_over();
}

template class PlainWay<2>;
template class PlainWay<3>;

}  // namespace pic
