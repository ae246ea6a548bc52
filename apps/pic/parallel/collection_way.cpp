// SPDX-License-Identifier: Apache-2.0
#include "pic/parallel/collection_way.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "pic/parallel/patch_parcel.hpp"
#include "pic/timer.hpp"

namespace pic {

namespace balance = plait::data::balance;
using plait::Rank;
using plait::data::ElementContext;
using plait::data::ElementId;

/// How one of a patch's tiles travels between its home and where the patch is.
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
/// For phases that need a place for charges only.
template <int D>
struct NoTile {
  static std::size_t size(const Patch<D>& /*piece*/) { return 0; }
  static void pack(const Patch<D>& /*piece*/, plait::Packer& /*packer*/) {}
  static void unpack(Patch<D>& /*piece*/, plait::Unpacker& /*unpacker*/) {}
};

namespace {

template <int D>
plait::data::Shape shape_of(const Division<D>& patches) {
  const Place<D>& parts = patches.parts();
  const auto extent = [&parts](std::size_t d) { return static_cast<std::uint32_t>(parts[d]); };
  if constexpr (D == 2) {
    return plait::data::Shape{extent(0), extent(1)};
  } else {
    return plait::data::Shape{extent(0), extent(1), extent(2)};
  }
}

template <int D>
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
      balancer_{options.balancer.empty() ? nullptr : balance::make_balancer(options.balancer)},
      balance_steps_{options.balance_steps},
      patches_{runtime,
               shape_of(layout_.patches),
               [this](ElementId id, plait::data::Index) {
                 Patch<D> patch{layout_.patches.box(number<D>(id)), problem_.physics};
                 load(problem_, patch);
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
CollectionWay<D>::~CollectionWay() = default;

template <int D>
Rank CollectionWay<D>::home(ElementId id) const {
  return Rank{static_cast<std::uint32_t>(layout_.rank_of(number<D>(id)))};
}

template <int D>
plait::data::LendSettings<Patch<D>> CollectionWay<D>::lend_settings() {
  plait::data::LendSettings<Patch<D>> settings{.parent_of = [this](ElementId id) { return home(id); },
                                               .pieces = {},
                                               .make_copy =
                                                   [this](ElementId id) {
                                                     return std::make_shared<Patch<D>>(
                                                         layout_.patches.box(number<D>(id)), problem_.physics);
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
  rebalancing.position = [this](ElementId id) {
    return balance_object<D>(layout_.patches, number<D>(id), Rank{}).position;
  };
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

/// Each patch moves when its own fields are there.
template <int D>
void CollectionWay<D>::start_move() {
  phase_ = patches_.start(
      [this, step = steps_](MovingPatch<D>& patch, ElementContext& context) {
        patch.move(context, *lender_.at(context.id()), {problem_, layout_.patches, step});
      },
      {.name = "move particles", .gate = &lender_.gate()});
}

/// Expects: lent. Gives back; the phase may still be open for other ranks.
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

/// Waits for the tiles of this rank only. Patches work meanwhile.
template <int D>
void CollectionWay<D>::wait_for_pieces(plait::data::Transfer transfer) {
  const Timer timer{profile_.migration};
  const plait::trace::Region region{trace_, "give back", steps_};
  transfer.wait();
}

/// Waits for particles that are on their way between patches, and notes what patches have cost.
template <int D>
void CollectionWay<D>::end_phase() {
  if (phase_) {
    const Timer timer{profile_.migration};
    (void)phase_.wait();
  }
}

/// Ends the phase of the last step, and notes once what its patches have cost. Time that is no patch's was spent
/// waiting for patches of other ranks, and sending particles.
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
    std::int32_t patch;
    std::uint32_t rank;
    std::uint64_t particles;
  };
  std::vector<plait::Bytes> out(static_cast<std::size_t>(ranks_.count()));
  std::vector<plait::Bytes> in(out.size());
  for (const Departure<D>& departure : departures) {
    const Offer offer{departure.part, static_cast<std::uint32_t>(ranks_.self()), departure.particles.size()};
    const auto bytes = std::as_bytes(std::span{&offer, 1});
    plait::Bytes& to = out[static_cast<std::size_t>(layout_.rank_of(departure.part))];
    to.insert(to.end(), bytes.begin(), bytes.end());
  }
  ranks_.exchange_unknown(out, in);
  std::map<ElementId, Offer> best;
  for (const plait::Bytes& bytes : in) {  // in order of ranks, so that the lowest wins
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(Offer)) {
      Offer offer;
      std::memcpy(&offer, bytes.data() + at, sizeof offer);
      Offer& known = best.try_emplace(ElementId{static_cast<std::uint64_t>(offer.patch)}, offer).first->second;
      known = offer.particles > known.particles ? offer : known;
    }
  }
  std::vector<plait::data::Move> moves;
  for (const auto& [patch, offer] : best) {
    if (offer.rank != static_cast<std::uint32_t>(ranks_.self())) {
      moves.push_back({patch, Rank{offer.rank}});
    }
  }
  patches_.migrate(moves);
}

template class CollectionWay<2>;
template class CollectionWay<3>;

}  // namespace pic
