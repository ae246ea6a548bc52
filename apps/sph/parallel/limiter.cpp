// SPDX-License-Identifier: Apache-2.0
// Limits the step of each particle to four times that of any particle near it.
#include <algorithm>
#include <numeric>

#include "sph/parallel/detail/simulation_impl.hpp"

namespace sph {

namespace {

namespace task = plait::task;
using plait::particles::Box;
using plait::particles::Cell;
using plait::particles::CellGroup;
using plait::particles::Leaf;

std::uint8_t shortest_of(std::span<const std::uint8_t> bins) {
  return std::accumulate(bins.begin(), bins.end(), task::longest_bin.value(), std::ranges::min);
}
std::uint8_t longest_of(std::span<const std::uint8_t> bins) {
  return std::accumulate(bins.begin(), bins.end(), std::uint8_t{0}, std::ranges::max);
}

double square(double value) {
  return value * value;
}

}  // namespace

/// Finds active particles near a cell whose new steps may be too short for their neighbours. Bins of inactive particles
/// are known to these already.
void Simulation::Impl::find_hurried(const CellWork& work, std::vector<Hurried>& all) const {
  const std::uint8_t longest = task::longest_active(work.now).value();
  const Cell& here = table_[work.cell];
  const std::uint8_t longest_here = longest_of(std::as_const(store_)[step_fields_.bin].subspan(here.first, here.count));
  const auto is_too_short = [&](std::uint8_t bin) {
    return bin <= longest && bin + task::neighbour_bins_apart_max < longest_here;
  };
  all.clear();
  for (const std::uint32_t neighbour : table_.neighbours(work.cell)) {
    const Cell& cell = table_[neighbour];
    const Particles& store = table_.store_of(neighbour);
    const auto seen = store[step_fields_.bin_seen];
    if (!is_too_short(shortest_of(seen.subspan(cell.first, cell.count)))) {
      continue;
    }
    for (const CellGroup& group : table_.groups_of(cell)) {
      for (const Leaf& leaf : table_.leaves_of(group)) {
        const std::uint8_t shortest = shortest_of(seen.subspan(leaf.first, leaf.count));
        if (!is_too_short(shortest)) {
          continue;
        }
        Hurried hurried{.store = &store, .leaf = &leaf, .box = {}, .support = 0, .bin = shortest};
        for (Particles::Index i = leaf.first; i < leaf.first + leaf.count; ++i) {
          if (is_too_short(seen[i])) {
            hurried.box.include(store.positions()[i]);
            hurried.support = std::max(hurried.support, ratio() * store[fields_.smoothing][i]);
          }
        }
        if (distance2(hurried.box, here.box, table_.period()) <= square(std::max(hurried.support, here.reach))) {
          all.push_back(hurried);
        }
      }
    }
  }
}

void Simulation::Impl::limit(const CellWork& work) {
  const Cell& cell = table_[work.cell];
  SphWorker& worker = worker_of(work);
  find_hurried(work, worker.hurried);
  if (worker.hurried.empty()) {
    return;
  }
  for (const CellGroup& group : table_.groups_of(cell)) {
    for (const Leaf& leaf : table_.leaves_of(group)) {
      limit_leaf(leaf, work);
    }
  }
}

void Simulation::Impl::limit_leaf(const Leaf& leaf, const CellWork& work) {
  SphWorker& worker = worker_of(work);
  const auto bins = store_[step_fields_.bin];
  const std::uint8_t longest_here = longest_of(bins.subspan(leaf.first, leaf.count));
  worker.hurried_close.clear();
  for (const Hurried& hurried : worker.hurried) {
    if (longest_here > hurried.bin + task::neighbour_bins_apart_max &&
        distance2(hurried.box, leaf.box, table_.period()) <= square(std::max(hurried.support, leaf.reach))) {
      worker.hurried_close.push_back(&hurried);
    }
  }
  if (worker.hurried_close.empty()) {
    return;
  }
  const auto kinds = store_[Particles::kind];
  const std::uint8_t longest_active = task::longest_active(work.now).value();
  for (Particles::Index i = leaf.first; i < leaf.first + leaf.count; ++i) {
    if (kinds[i] != gas_kind) {
      continue;
    }
    std::uint8_t shortest = task::longest_bin.value();
    for (const Hurried* hurried : worker.hurried_close) {
      if (bins[i] > hurried->bin + task::neighbour_bins_apart_max && hurried->bin < shortest) {
        shortest = std::min(shortest, shortest_near(i, *hurried, longest_active));
      }
    }
    const TimeBin wanted = task::limited_by(TimeBin{bins[i]}, TimeBin{shortest});
    if (wanted.value() < bins[i]) {
      wake(i, wanted, work.now);
    }
  }
}

/// The shortest bin, up to `longest`, of particles in a leaf that particle `i` reaches, or that reach it.
std::uint8_t Simulation::Impl::shortest_near(Particles::Index i, const Hurried& hurried, std::uint8_t longest) const {
  const Vector at = store_.positions()[i];
  const float support = ratio() * store_[fields_.smoothing][i];
  const auto distance2_to = [&](const Box& box) { return distance2(Box{at, at}, box, table_.period()); };
  std::uint8_t shortest = task::longest_bin.value();
  if (distance2_to(hurried.box) > square(std::max(support, hurried.support))) {
    return shortest;
  }
  const Particles& theirs = *hurried.store;
  const auto seen = theirs[step_fields_.bin_seen];
  for (Particles::Index j = hurried.leaf->first; j < hurried.leaf->first + hurried.leaf->count; ++j) {
    const Vector& its = theirs.positions()[j];
    const double reach = std::max(support, ratio() * theirs[fields_.smoothing][j]);
    if (seen[j] <= longest && seen[j] < shortest && distance2_to({its, its}) < square(reach)) {
      shortest = seen[j];
    }
  }
  return shortest;
}

/// Shortens the step of a particle, and corrects the kick by half of the longer step.
void Simulation::Impl::wake(Particles::Index i, TimeBin bin, Ticks now) {
  std::uint8_t& its = store_[step_fields_.bin][i];
  const Ticks begin = store_[step_fields_.begin][i];
  if (begin != now) {
    const double was = line_.duration(task::next_active(TimeBin{its}, now) - begin);
    const double is = line_.duration(task::next_active(bin, now) - begin);
    kick(gas(), i, scheme_, (is - was) / 2);
  }
  its = bin.value();
}

}  // namespace sph
