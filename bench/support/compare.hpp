// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "support/drivers.hpp"
#include "support/sides.hpp"
#include "support/stopwatch.hpp"

namespace bench {

/// The samples of raw MPI and of plait on each driver.
template <class Samples>
struct Compared {
  Samples raw;
  std::map<std::string, Samples> ours;  ///< By driver.
};

/// Calls `measure(side, samples)` for raw MPI and for plait on each driver in turns, `blocks` times each. A runtime
/// exists only during its turn, so that nothing disturbs raw MPI. Raw MPI gets no further block after
/// `raw_seconds_max`. Collective.
template <class Samples, class Measure>
[[nodiscard]] Compared<Samples> compare(const std::vector<Driver>& drivers,
                                        int blocks,
                                        const Measure& measure,
                                        double raw_seconds_max = std::numeric_limits<double>::infinity()) {
  Compared<Samples> compared;
  double raw_seconds = 0;
  for (int block = 0; block < blocks; ++block) {
    if (of_rank_0(RawMpi{}, static_cast<int>(raw_seconds < raw_seconds_max)) != 0) {
      const Stopwatch watch;
      measure(RawMpi{}, compared.raw);
      raw_seconds += watch.seconds();
    }
    for (const Driver& driver : drivers) {
      const auto runtime = driver.start(plait::Options::from_environment());
      measure(Plait{*runtime}, compared.ours[driver.name]);
    }
  }
  return compared;
}

}  // namespace bench
