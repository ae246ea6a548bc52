// SPDX-License-Identifier: Apache-2.0
#include "sph/parallel/detail/tree_gravity.hpp"

#include <algorithm>
#include <numeric>

namespace sph {

namespace {

// Kinds of copies.
constexpr std::uint8_t resting = 0;
constexpr std::uint8_t active = 1;

}  // namespace

TreeGravity::TreeGravity(plait::comm::Endpoint& messages,
                         plait::task::Scheduler& scheduler,
                         const plait::particles::Space& space,
                         const GravitySettings& settings)
    : messages_{messages},
      comms_{messages.claim_comms(1)},
      scheduler_{scheduler},
      space_{space},
      mass_{copies_.add_field<double>("mass")},
      acceleration_{copies_.add_field<Vector>("acceleration")},
      potential_{copies_.add_field<double>("potential")},
      place_{copies_.add_field<Particles::Index>("place")},
      forces_{plait::particles::make_long_range({.charge = mass_,
                                                 .acceleration = acceleration_,
                                                 .potential = potential_,
                                                 .targets = {active},
                                                 .theta = settings.theta,
                                                 .softening = settings.softening,
                                                 .coupling = settings.constant})} {
  const plait::particles::StepFrame frame{
      messages_, copies_, graph_, scheduler_.worker_count(), space_, comms_[0], last_waiting_};
  plait::Task built = graph_.join("gravity: begin");
  for (const plait::Task& task : forces_->add_building_tasks(frame, built)) {
    built = task;
  }
  plait::Task clear =
      graph_.task("gravity: clear", [this] { forces_->clear_results(copies_, 0, copies_.size()); }).after(built);
  const plait::Task end = graph_.join("gravity: end").after(clear);
  (void)forces_->add_summing_tasks(frame, clear, end);
}

void TreeGravity::update(Particles& store,
                         const GasFields& fields,
                         const std::function<bool(std::size_t)>& is_active,
                         Results results) {
  copies_.clear();
  copies_.add(store.size());
  for (std::size_t i = 0; i < store.size(); ++i) {
    copies_[Particles::kind][i] = is_active(i) ? active : resting;
  }
  std::ranges::copy(store.positions(), copies_.positions().begin());
  std::ranges::copy(store.ids(), copies_.ids().begin());
  std::ranges::copy(store[fields.mass], copies_[mass_].begin());
  std::iota(copies_[place_].begin(), copies_[place_].end(), Particles::Index{0});
  scheduler_.run(graph_);
  const auto places = copies_[place_];
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (copies_[Particles::kind][i] == active) {
      store[fields.potential][places[i]] = copies_[potential_][i];
      if (results == Results::all) {
        store[fields.gravity][places[i]] = copies_[acceleration_][i];
      }
    }
  }
}

}  // namespace sph
