// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>

#include "pic/ranks.hpp"
#include "pic/way.hpp"

namespace bench {

/// What a block of steps took on the slowest rank, in seconds a step.
struct BlockTimes {
  double step = 0;
  double particles = 0;  ///< The particle phase, with waiting for who has more where the phase itself waits.
};

/// Makes `steps` steps. Collective.
inline BlockTimes run_block(pic::Way& way, pic::Ranks& ranks, int steps) {
  (void)ranks.max(0);  // begin together
  const double before = way.profile().particles.count();
  const auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step) {
    way.step();
  }
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double particles = way.profile().particles.count() - before;
  return {ranks.max(took) / steps, ranks.max(particles) / steps};
}

}  // namespace bench
