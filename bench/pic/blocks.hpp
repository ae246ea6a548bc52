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
  double particles = 0;  ///< The particle phase, with handing over, waiting for who has more, and balancing.
};

/// Makes `steps` steps. Collective.
inline BlockTimes run_block(pic::Way& way, pic::Ranks& ranks, int steps) {
  (void)ranks.max(0);  // begin together
  const auto phase = [&way] { return (way.profile().particles + way.profile().migration).count(); };
  const double before = phase();
  const auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step) {
    way.step();
  }
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double particles = phase() - before;
  return {ranks.max(took) / steps, ranks.max(particles) / steps};
}

}  // namespace bench
