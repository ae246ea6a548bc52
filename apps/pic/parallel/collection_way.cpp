// SPDX-License-Identifier: Apache-2.0
#include "pic/parallel/collection_way.hpp"

#include <algorithm>
#include <cstring>

#include "pic/parallel/patch_parcel.hpp"
#include "pic/parallel/timer.hpp"
#include "pic/totals.hpp"

namespace pic {

namespace balance = plait::data::balance;
using plait::Rank;
using plait::data::ElementId;
using plait::data::Turn;

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
      runtime_{runtime},
      layout_{problem_.physics.grid, ranks.count(), options.patches_per_rank},
      solver_{problem_.physics, layout_.blocks, ranks, poisson},
      home_{problem_.physics, layout_, ranks},
      lender_{layout_, home_, ranks},
      balancer_{options.balancer.empty() ? nullptr : balance::make_balancer(options.balancer)},
      balance_steps_{options.balance_steps},
      patches_{runtime,
               shape_of(layout_.patches),
               [this](ElementId id, plait::data::Index) {
                 Patch<D> patch{layout_.patches.box(number<D>(id)), problem_.physics};
                 load(problem_, patch);
                 return MovingPatch<D>{std::move(patch)};
               },
               {.name = "patches", .mapping = [this](ElementId id) { return home(id); }}} {
  for (std::int32_t patch = 0; patch < layout_.patches.count(); ++patch) {
    places_.emplace_back(static_cast<std::uint32_t>(layout_.rank_of(patch)));
  }
  if (problem_.physics.solve != Solve::nothing) {
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
std::vector<Patch<D>*> CollectionWay<D>::here() {
  std::vector<Patch<D>*> patches;
  for (const auto& [id, element] : patches_.local()) {
    patches.push_back(&element.patch());
  }
  return patches;
}

template <int D>
void CollectionWay<D>::move() {
  const Timer timer{profile_.particles};
  patches_.each([this](MovingPatch<D>& patch, Turn& turn) { patch.move(turn, problem_, layout_.patches, steps_); },
                "move particles");
}

template <int D>
void CollectionWay<D>::collect_charge() {
  {
    const Timer timer{profile_.particles};
    patches_.each([this](MovingPatch<D>& element) { deposit_charge(element.patch(), problem_.physics); },
                  "deposit charge");
  }
  const Timer timer{profile_.hand_over};
  lender_.give_back(&Patch<D>::charge, places_, here());
  solver_.clear();
  home_.give_charges(solver_);
}

template <int D>
void CollectionWay<D>::step() {
  if (balancer_ != nullptr && steps_ > 0 && steps_ % balance_steps_ == 0) {
    balance();
  }
  if (has_fields()) {
    const Timer timer{profile_.hand_over};
    home_.take_fields(solver_);
    lender_.lend(&Patch<D>::fields, places_, here());
  }
  move();
  if (problem_.physics.solve == Solve::electrostatic) {
    collect_charge();
  } else if (problem_.physics.solve == Solve::electromagnetic) {
    const Timer timer{profile_.hand_over};
    lender_.give_back(&Patch<D>::current, places_, here());
    solver_.clear();
    home_.give_currents(solver_);
  }
  const Timer timer{profile_.solve};
  solver_.step(++steps_);
}

/// What each rank tells of each of its patches.
struct PatchLoad {
  std::uint64_t id = 0;
  double seconds = 0;
  double bytes = 0;
};

template <int D>
void CollectionWay<D>::balance() {
  BalanceNote note{.step = steps_};
  balance::Problem problem{.rank_count = runtime_.rank_count()};
  balance::Decision decision;
  {
    const Timer timer{note.decided};
    std::vector<PatchLoad> mine;
    for (const plait::data::ElementLoad& load : patches_.loads()) {
      const auto bytes = patches_.find(load.id)->patch().particle_count() * sizeof(Migrant<D>);
      mine.push_back({load.id.value(), load.seconds, static_cast<double>(bytes)});
    }
    std::uint32_t rank = 0;
    for (const plait::Bytes& bytes : plait::all_gather(runtime_.messages(), std::as_bytes(std::span{mine}))) {
      std::vector<PatchLoad> theirs(bytes.size() / sizeof(PatchLoad));
      std::memcpy(theirs.data(), bytes.data(), bytes.size());
      for (const PatchLoad& load : theirs) {
        const auto patch = static_cast<std::int32_t>(load.id);
        problem.objects.push_back(balance_object<D>(layout_.patches, patch, Rank{rank}));
        problem.objects.back().load = load.seconds / static_cast<double>(balance_steps_);
        problem.objects.back().bytes = load.bytes;
      }
      ++rank;
    }
    std::ranges::sort(problem.objects, {}, &balance::Object::id);
    decision = balancer_->decide(problem);
  }
  const balance::Score score = balance::score(problem, decision.placement);
  note.imbalance_before = balance::score(problem, balance::present_placement(problem)).imbalance();
  note.imbalance_predicted = score.imbalance();
  note.imbalance_bound = score.load_mean > 0 ? balance::load_bound(problem) / score.load_mean - 1 : 0;
  note.moved = score.objects_moved;
  {
    const Timer timer{note.migrated};
    std::vector<plait::data::Move> moves;
    for (std::size_t i = 0; i < problem.objects.size(); ++i) {
      if (problem.objects[i].rank == runtime_.self() && decision.placement[i] != runtime_.self()) {
        moves.push_back({problem.objects[i].id, decision.placement[i]});
      }
    }
    patches_.migrate(moves);
    places_ = decision.placement;
    for (const auto& [id, element] : patches_.local()) {
      if (element.patch().fields.size() == 0) {
        element.make_tiles(problem_.physics);
      }
    }
  }
  patches_.reset_loads();
  profile_.migration += note.decided + note.migrated;
  notes_.push_back(note);
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

template class CollectionWay<2>;
template class CollectionWay<3>;

}  // namespace pic
