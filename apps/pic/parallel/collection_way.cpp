// SPDX-License-Identifier: Apache-2.0
#include "pic/parallel/collection_way.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "pic/parallel/exchange_values.hpp"

namespace pic {

namespace balance = plait::data::balance;
using plait::Rank;
using plait::data::ElementContext;
using plait::data::ElementId;

/// The accessor of one of a patch's tiles, which is sent between the patch's home and its rank.
template <int D, auto tile>
struct WholeTile {
  static std::size_t size(const Patch<D>& piece) { return (piece.*tile).size() * sizeof(*(piece.*tile).data()); }
  static void pack(const Patch<D>& piece, plait::Packer& packer) {
    packer.bytes(std::as_bytes(std::span{(piece.*tile).data(), (piece.*tile).size()}));
  }
  static void unpack(Patch<D>& piece, plait::Unpacker& unpacker) {
    unpacker.bytes(std::as_writable_bytes(std::span{(piece.*tile).data(), (piece.*tile).size()}));
  }
};
/// For phases that only need memory for charges.
template <int D>
struct NoTile {
  static std::size_t size(const Patch<D>& /*piece*/) { return 0; }
  static void pack(const Patch<D>& /*piece*/, plait::Packer& /*packer*/) {}
  static void unpack(Patch<D>& /*piece*/, plait::Unpacker& /*unpacker*/) {}
};

namespace {

template <int D>
plait::data::Shape shape_of(const Place<D>& parts) {
  const std::vector<std::uint64_t> extents(parts.begin(), parts.end());
  return plait::data::shape_of(extents);
}

std::int32_t number(ElementId id) {
  return static_cast<std::int32_t>(id.value());
}

}  // namespace

template <int D>
CollectionWay<D>::CollectionWay(
    Problem<D> problem, const BalanceOptions& options, plait::Runtime& runtime, Ranks& ranks, PoissonOptions poisson)
    : Base{std::move(problem), options.patches_per_rank, ranks, poisson},
      trace_{runtime.trace()},
      worker_count_{static_cast<double>(runtime.worker_count())},
      balancer_{options.balancer.empty() ? nullptr : balance::make_balancer(options.balancer, options.balancers)},
      balance_steps_{options.balance_steps},
      patches_{runtime,
               shape_of<D>(layout_.patches.parts()),
               [this](ElementId id, plait::data::Index) {
                 Patch<D> patch{layout_.patches.box(number(id)), problem_.physics};
                 problem_.load(patch);
                 return MovingPatch<D>{std::move(patch)};
               },
               {.name = "patches", .mapping = [this](ElementId id) { return home(id); }}},
      lender_{runtime, patches_, lend_settings()},
      rebalancer_{runtime, rebalance_options(options)} {
  if (has_fields()) {
    lender_.template lend<NoTile<D>>();
    collect_charge();
    end_phase();
    patches_.reset_loads();
  }
  solver_.start();
}

template <int D>
Rank CollectionWay<D>::home(ElementId id) const {
  return Rank{static_cast<std::uint32_t>(layout_.rank_of(number(id)))};
}

template <int D>
plait::data::LendSettings<Patch<D>> CollectionWay<D>::lend_settings() {
  plait::data::LendSettings<Patch<D>> settings{.parent_of = [this](ElementId id) { return home(id); },
                                               .pieces = {},
                                               .make_copy =
                                                   [this](ElementId id) {
                                                     return std::make_shared<Patch<D>>(layout_.patches.box(number(id)),
                                                                                       problem_.physics);
                                                   }};
  for (std::size_t i = 0; i < home_.patches().size(); ++i) {
    settings.pieces.push_back({ElementId{static_cast<std::uint64_t>(home_.numbers()[i])}, &home_.patches()[i]});
  }
  return settings;
}

template <int D>
balance::RebalanceOptions CollectionWay<D>::rebalance_options(const BalanceOptions& options) const {
  balance::RebalanceOptions rebalancing;
  rebalancing.trigger = {.horizon = static_cast<double>(options.horizon_steps), .margin = options.must_pay ? 1.0 : 0.0};
  rebalancing.position = [this](ElementId id) { return layout_.patches.box(number(id)).centre(); };
  rebalancing.bytes = [this](ElementId id) {
    return static_cast<double>(patches_.find(id)->patch().particle_count() * sizeof(Migrant<D>));
  };
  rebalancing.statistics = options.statistics;
  return rebalancing;
}

template <int D>
void CollectionWay<D>::lend() {
  const Timer timer{profile_.hand_over};
  const plait::trace::Region region{trace_, "lend", steps_};
  if (has_fields()) {
    home_.take_fields(solver_);
    lender_.template lend<WholeTile<D, &Patch<D>::fields>>();
  } else if (!std::exchange(is_lent_, true)) {
    lender_.template lend<NoTile<D>>();
  }
}

/// Starts the phase in which each patch moves its particles when its fields have arrived.
template <int D>
void CollectionWay<D>::start_move() {
  phase_ = patches_.start(
      [this, step = steps_](MovingPatch<D>& patch, ElementContext& context) {
        patch.move(context, *lender_.at(context.id()), {problem_, layout_.patches, step});
      },
      {.name = "move particles", .gate = &lender_.gate()});
}

/// Deposits all charges and gives them back. Expects: tiles are lent. The phase may still be open on other ranks.
template <int D>
void CollectionWay<D>::collect_charge() {
  phase_ = patches_.start(
      [this](MovingPatch<D>& element, ElementContext& context) {
        element.deposit_charge(*lender_.at(context.id()), problem_.physics);
      },
      {.name = "deposit charge", .gate = &lender_.gate()});
  wait_for_pieces(lender_.template give_back<WholeTile<D, &Patch<D>::charge>>());
  const Timer timer{profile_.hand_over};
  solver_.clear();
  home_.give_charges(solver_);
}

/// Waits for the tiles of this rank only, while patches compute.
template <int D>
void CollectionWay<D>::wait_for_pieces(plait::data::Transfer transfer) {
  const Timer timer{profile_.migration};
  const plait::trace::Region region{trace_, "give back", steps_};
  transfer.wait();
}

/// Waits for the particles that are in flight between patches.
template <int D>
void CollectionWay<D>::end_phase() {
  if (phase_) {
    const Timer timer{profile_.migration};
    (void)phase_.wait();
  }
}

/// Ends the phase of the last step, and adds the loads of its patches once. The rest of the time was spent waiting for
/// patches of other ranks, and sending particles.
template <int D>
void CollectionWay<D>::note_loads() {
  end_phase();
  if (steps_noted_ == steps_) {
    return;
  }
  steps_noted_ = steps_;
  Profile::Seconds busy{};
  for (const plait::data::ElementLoad& load : patches_.loads()) {
    busy += Profile::Seconds{load.seconds / worker_count_};
    auto& [seconds, sent] = costs_[load.id];
    seconds += load.seconds;
    for (const plait::data::PeerBytes& one : load.sent) {
      sent[one.peer] += one.bytes;
    }
  }
  profile_.particles += busy;
  profile_.migration -= std::min(busy, profile_.migration);  // workers also compute while this thread does not wait
  if (balancer_ != nullptr) {
    rebalancer_.observe(patches_);
  } else {
    patches_.reset_loads();
  }
}

template <int D>
void CollectionWay<D>::step() {
  if (balancer_ != nullptr && steps_ > 0 && steps_ % balance_steps_ == 0) {
    balance();
  }
  lend();
  note_loads();
  start_move();
  if (problem_.physics.solve == Solve::electrostatic) {
    end_phase();  // all particles have arrived
    collect_charge();
  } else if (problem_.physics.solve == Solve::electromagnetic) {
    wait_for_pieces(lender_.template give_back<WholeTile<D, &Patch<D>::current>>());
    const Timer timer{profile_.hand_over};
    solver_.clear();
    home_.give_currents(solver_);
  } else {
    end_phase();
  }
  const Timer timer{profile_.solve};
  const plait::trace::Region region{trace_, "solve", steps_};
  solver_.step(++steps_);
}

template <int D>
void CollectionWay<D>::balance() {
  note_loads();
  if (std::exchange(is_lent_, false)) {
    lender_.template give_back<NoTile<D>>().wait();
  }
  const balance::BalanceReport report = rebalancer_.balance(patches_, *balancer_);
  const Profile::Seconds deciding{report.seconds_deciding};
  const Profile::Seconds moving{report.seconds_moving};
  profile_.migration += deciding + moving;
  if (report.is_done) {
    notes_.push_back({.step = steps_,
                      .imbalance_before = report.imbalance_before,
                      .imbalance_predicted = report.imbalance_predicted,
                      .imbalance_bound = report.imbalance_bound,
                      .moved = report.objects_moved,
                      .bytes_moved = report.bytes_moved,
                      .decided = deciding,
                      .migrated = moving});
  }
}

template <int D>
double CollectionWay<D>::gauss_error() {
  if (problem_.physics.solve == Solve::nothing) {
    return 0;
  }
  note_loads();
  lender_.template lend<NoTile<D>>();
  collect_charge();
  end_phase();
  return solver_.gauss_error();
}

template <int D>
std::vector<const Patch<D>*> CollectionWay<D>::local_patches() {
  end_phase();
  std::vector<const Patch<D>*> patches;
  for (const auto& [id, element] : patches_.local()) {
    patches.push_back(&element.patch());
  }
  return patches;
}

template <int D>
std::vector<plait::data::ElementLoad> CollectionWay<D>::take_loads() {
  note_loads();
  std::vector<plait::data::ElementLoad> loads;
  for (const auto& [id, cost] : std::exchange(costs_, {})) {
    plait::data::ElementLoad& load = loads.emplace_back(plait::data::ElementLoad{.id = id, .seconds = cost.seconds});
    for (const auto& [peer, bytes] : cost.sent) {
      load.sent.push_back({peer, bytes});
    }
  }
  return loads;
}

template <int D>
void CollectionWay<D>::go_on(std::uint64_t steps, std::vector<Migrant<D>> particles, std::uint64_t absorbed) {
  end_phase();
  steps_ = steps_noted_ = steps;
  const auto [id, first] = *patches_.local().begin();
  first.go_on(steps, absorbed);
  std::vector<Departure<D>> departures = by_part<D>(particles, layout_.patches);
  if (balancer_ != nullptr) {
    gather_patches(departures);
  }
  for (Departure<D>& departure : departures) {
    patches_.template send<&MovingPatch<D>::take>(
        ElementId{static_cast<std::uint64_t>(departure.part)}, steps - 1, std::move(departure.particles));
  }
  patches_.each([steps](MovingPatch<D>& patch) { patch.go_on(steps, 0); }, "go on");
  patches_.reset_loads();
}

/// Moves every patch to the rank that has most of its particles: where it was, when there are as many ranks as then.
template <int D>
void CollectionWay<D>::gather_patches(std::span<const Departure<D>> departures) {
  struct Offer {
    std::uint64_t particles;
    std::uint32_t rank;
    std::int32_t patch;
  };
  const auto self = static_cast<std::uint32_t>(ranks_.self());
  std::vector<std::vector<Offer>> offers(static_cast<std::size_t>(ranks_.count()));
  for (const Departure<D>& departure : departures) {
    offers[static_cast<std::size_t>(layout_.rank_of(departure.part))].push_back(
        {departure.particles.size(), self, departure.part});
  }
  std::map<ElementId, Offer> best;
  for (const Offer& offer : exchange_values(ranks_, offers)) {  // in order of ranks, so that the lowest wins
    Offer& known = best.try_emplace(ElementId{static_cast<std::uint64_t>(offer.patch)}, offer).first->second;
    known = offer.particles > known.particles ? offer : known;
  }
  std::vector<plait::data::Move> moves;
  for (const auto& [patch, offer] : best) {
    if (offer.rank != self) {
      moves.push_back({patch, Rank{offer.rank}});
    }
  }
  patches_.migrate(moves);
}

template class CollectionWay<2>;
template class CollectionWay<3>;

}  // namespace pic
