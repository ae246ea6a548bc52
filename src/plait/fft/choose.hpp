// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/fft/plan.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::fft {

/// One variant, and its time.
struct Candidate {
  std::string variant;
  std::uint32_t pieces = 0;
  /// The least of its rounds: all in flight, forward and backward, on the slowest rank; 0: not measured.
  double seconds = 0;
  std::string missing;  ///< Why it cannot work here; empty if it can.
};

/// The same on all ranks.
struct Choice {
  std::string variant;
  std::uint32_t pieces = 0;
  std::vector<Candidate> candidates;  ///< The fastest first, those that cannot work last.

  /// One line for each candidate.
  [[nodiscard]] std::string describe() const;
};

/// Measures every variant in `options` (`variants()` and `more`; PLT with several numbers of pieces, unless one is
/// given) on the transform itself, in alternating rounds with several in flight. Chooses the variant whose slowest rank
/// is fastest. `Plan` calls it for the variant "automatic".
///
/// Collective; all ranks choose the same. Memory: three transforms with their arrays, during the call. Cost: a
/// first round of all candidates, then rounds for two seconds. Throws: as the constructor of `Plan`.
[[nodiscard]] Choice choose(comm::Endpoint& endpoint,
                            task::Scheduler& scheduler,
                            const std::array<Index, 3>& lengths,
                            const PlanOptions& options);

}  // namespace plait::fft
