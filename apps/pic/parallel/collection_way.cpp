// SPDX-License-Identifier: Apache-2.0
#include "pic/parallel/collection_way.hpp"

#include <cstring>
#include <memory>
#include <utility>

#include "pic/parallel/patch_parcel.hpp"
#include "pic/timer.hpp"
#include "pic/totals.hpp"

namespace pic {

namespace balance = plait::data::balance;
using plait::Rank;
using plait::data::ElementId;
using plait::data::Turn;

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
    : problem_{std::move(problem)},
      ranks_{ranks},
      trace_{runtime.trace()},
      worker_count_{static_cast<double>(runtime.worker_count())},
      layout_{problem_.physics.grid, ranks.count(), options.patches_per_rank},
      solver_{problem_.physics, layout_.blocks, ranks, poisson},
      home_{problem_.physics, layout_, ranks},
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

template <int D>
void CollectionWay<D>::move() {
  note_phase(patches_.each(
      [this](MovingPatch<D>& patch, Turn& turn) {
        patch.move(turn, *lender_.at(turn.id()), {problem_, layout_.patches, steps_});
      },
      "move particles"));
}

/// Expects: lent. Gives back.
template <int D>
void CollectionWay<D>::collect_charge() {
  note_phase(patches_.each(
      [this](MovingPatch<D>& element, Turn& turn) { element.deposit_charge(*lender_.at(turn.id()), problem_.physics); },
      "deposit charge"));
  const Timer timer{profile_.hand_over};
  const plait::trace::Region region{trace_, "give back", steps_};
  lender_.template give_back<WholeTile<D, &Patch<D>::charge>>();
  solver_.clear();
  home_.give_charges(solver_);
}

/// What was not work of a patch was waiting for those with more to do, and handing leavers over.
template <int D>
void CollectionWay<D>::note_phase(const plait::data::PhaseReport& phase) {
  profile_.migration += phase.took;
}

template <int D>
void CollectionWay<D>::note_loads() {
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
  profile_.migration -= busy;
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
  move();
  if (problem_.physics.solve == Solve::electrostatic) {
    collect_charge();
  } else if (problem_.physics.solve == Solve::electromagnetic) {
    const Timer timer{profile_.hand_over};
    const plait::trace::Region region{trace_, "give back", steps_};
    lender_.template give_back<WholeTile<D, &Patch<D>::current>>();
    solver_.clear();
    home_.give_currents(solver_);
  }
  note_loads();
  const Timer timer{profile_.solve};
  const plait::trace::Region region{trace_, "solve", steps_};
  solver_.step(++steps_);
}

template <int D>
void CollectionWay<D>::balance() {
  if (std::exchange(is_lent_, false)) {
    lender_.template give_back<NoTile<D>>();
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
Totals CollectionWay<D>::totals() {
  PartialTotals<D> mine;
  for (const auto& [id, element] : patches_.local()) {
    mine.add(problem_, element.patch(), steps_);
  }
  return mine.sum(solver_, ranks_);
}

template <int D>
double CollectionWay<D>::gauss_error() {
  if (problem_.physics.solve == Solve::nothing) {
    return 0;
  }
  lender_.template lend<NoTile<D>>();
  collect_charge();
  return solver_.gauss_error();
}

template <int D>
std::uint64_t CollectionWay<D>::local_particles() const {
  std::uint64_t count = 0;
  for (const auto& [id, element] : patches_.local()) {
    count += element.patch().particle_count();
  }
  return count;
}

template <int D>
std::vector<const Patch<D>*> CollectionWay<D>::local_patches() const {
  std::vector<const Patch<D>*> patches;
  for (const auto& [id, element] : patches_.local()) {
    patches.push_back(&element.patch());
  }
  return patches;
}

template <int D>
std::vector<plait::data::ElementLoad> CollectionWay<D>::take_loads() {
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
  steps_ = steps;
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
