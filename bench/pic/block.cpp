// SPDX-License-Identifier: Apache-2.0
#include "pic/block.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "support/stopwatch.hpp"

namespace bench {

BlockTimes run_block(pic::GridWay<2>& way, pic::Ranks& ranks, int steps) {
  (void)ranks.max(0);  // all begin at the same time
  const pic::Profile before = way.profile();
  const Stopwatch watch;
  for (int step = 0; step < steps; ++step) {
    way.step();
  }
  const double took = watch.seconds();
  const pic::Profile after = way.profile();
  const auto particles = (after.particles - before.particles) + (after.migration - before.migration);
  const auto lending = after.hand_over - before.hand_over;
  return {ranks.max(took) / steps, ranks.max(particles.count()) / steps, ranks.max(lending.count()) / steps};
}

BlockLoads take_loads(pic::CollectionWay<2>& way, pic::Ranks& ranks, int steps) {
  double mine = 0;
  double heaviest = 0;
  for (const plait::data::ElementLoad& load : way.take_loads()) {
    mine += load.seconds;
    heaviest = std::max(heaviest, load.seconds);
  }
  std::array<std::int64_t, 1> sum{std::llround(mine * 1e9)};
  ranks.sum(sum);
  return {.mean = static_cast<double>(sum[0]) * 1e-9 / ranks.count() / steps,
          .largest = ranks.max(mine) / steps,
          .heaviest = ranks.max(heaviest) / steps};
}

}  // namespace bench
