// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/step_limiter.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace plait::particles {

namespace {

using task::TimeBin;

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
void StepLimiter::find_hurried(std::uint32_t number, task::Ticks now, std::vector<Hurried>& all) const {
  const std::uint8_t longest = task::longest_active(now).value();
  const Cell& here = table_[number];
  const std::uint8_t longest_here =
      longest_of(std::as_const(table_.own())[options_.bin].subspan(here.first, here.count));
  const auto is_too_short = [&](std::uint8_t bin) {
    return bin <= longest && bin + task::neighbour_bins_apart_max < longest_here;
  };
  all.clear();
  for (const std::uint32_t neighbour : table_.neighbours(number)) {
    const Cell& cell = table_[neighbour];
    const Particles& store = table_.store_of(neighbour);
    const auto seen = store[options_.bin_seen];
    if (!is_too_short(shortest_of(seen.subspan(cell.first, cell.count)))) {
      continue;
    }
    for (const CellGroup& group : table_.groups_of(cell)) {
      for (const Leaf& leaf : table_.leaves_of(group)) {
        const std::uint8_t shortest = shortest_of(seen.subspan(leaf.first, leaf.count));
        if (!is_too_short(shortest)) {
          continue;
        }
        Hurried hurried{.store = &store, .leaf = &leaf, .box = {}, .reach = 0, .bin = shortest};
        for (Particles::Index i = leaf.first; i < leaf.first + leaf.count; ++i) {
          if (is_too_short(seen[i])) {
            hurried.box.include(store.positions()[i]);
            hurried.reach = std::max(hurried.reach, options_.reach_factor * store[options_.reach][i]);
          }
        }
        if (distance2(hurried.box, here.box, table_.period()) <= square(std::max(hurried.reach, here.reach))) {
          all.push_back(hurried);
        }
      }
    }
  }
}

void StepLimiter::limit(std::uint32_t number, task::Ticks now, Buffers& buffers) const {
  find_hurried(number, now, buffers.near);
  if (buffers.near.empty()) {
    return;
  }
  for (const CellGroup& group : table_.groups_of(table_[number])) {
    for (const Leaf& leaf : table_.leaves_of(group)) {
      limit_leaf(leaf, now, buffers);
    }
  }
}

void StepLimiter::limit_leaf(const Leaf& leaf, task::Ticks now, Buffers& buffers) const {
  const Particles& store = table_.own();
  const auto bins = store[options_.bin];
  const std::uint8_t longest_here = longest_of(bins.subspan(leaf.first, leaf.count));
  buffers.close.clear();
  for (const Hurried& hurried : buffers.near) {
    if (longest_here > hurried.bin + task::neighbour_bins_apart_max &&
        distance2(hurried.box, leaf.box, table_.period()) <= square(std::max(hurried.reach, leaf.reach))) {
      buffers.close.push_back(&hurried);
    }
  }
  if (buffers.close.empty()) {
    return;
  }
  const auto kinds = store[Particles::kind];
  const std::uint8_t longest_active = task::longest_active(now).value();
  for (Particles::Index i = leaf.first; i < leaf.first + leaf.count; ++i) {
    if (!options_.kinds.has(kinds[i])) {
      continue;
    }
    std::uint8_t shortest = task::longest_bin.value();
    for (const Hurried* hurried : buffers.close) {
      if (bins[i] > hurried->bin + task::neighbour_bins_apart_max && hurried->bin < shortest) {
        shortest = std::min(shortest, shortest_near(i, *hurried, longest_active));
      }
    }
    const TimeBin wanted = task::limited_by(TimeBin{bins[i]}, TimeBin{shortest});
    if (wanted.value() < bins[i]) {
      options_.wake(i, wanted, now);
    }
  }
}

/// The shortest bin, up to `longest`, of particles in a leaf that particle `i` reaches, or that reach it.
std::uint8_t StepLimiter::shortest_near(Particles::Index i, const Hurried& hurried, std::uint8_t longest) const {
  const Particles& store = table_.own();
  const Vector at = store.positions()[i];
  const float mine = options_.reach_factor * store[options_.reach][i];
  const auto distance2_to = [&](const Box& box) { return distance2(Box{at, at}, box, table_.period()); };
  std::uint8_t shortest = task::longest_bin.value();
  if (distance2_to(hurried.box) > square(std::max(mine, hurried.reach))) {
    return shortest;
  }
  const Particles& theirs = *hurried.store;
  const auto seen = theirs[options_.bin_seen];
  for (Particles::Index j = hurried.leaf->first; j < hurried.leaf->first + hurried.leaf->count; ++j) {
    const Vector& its = theirs.positions()[j];
    const double reach = std::max(mine, options_.reach_factor * theirs[options_.reach][j]);
    if (seen[j] <= longest && seen[j] < shortest && distance2_to({its, its}) < square(reach)) {
      shortest = seen[j];
    }
  }
  return shortest;
}

}  // namespace plait::particles
