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

/// A variant and its measured time.
struct Candidate {
  std::string variant;
  std::uint32_t pieces = 0;
  /// Of the fastest round, on the slowest rank: all transforms in flight, forward and backward. 0: not measured.
  double seconds = 0;
  std::string missing;  ///< The reason if it does not work here, else empty.
};

/// The result of `choose`, equal on all ranks.
struct Choice {
  std::string variant;
  std::uint32_t pieces = 0;
  std::vector<Candidate> candidates;  ///< The fastest first, those that do not work last.

  /// Formats one line for each candidate.
  [[nodiscard]] std::string describe() const;
};

/// `variants()` and `options.more`.
[[nodiscard]] std::vector<Variant> all_variants(const PlanOptions& options);

/// Measures all variants on several transforms in flight, in alternating rounds, and chooses the fastest by its slowest
/// rank. Tries several numbers of pieces for PLT, unless `options` has one. `Plan` calls it for the variant
/// "automatic".
///
/// Collective; all ranks choose the same. Throws: as the constructor of `Plan`. Memory: three transforms with their
/// arrays for each candidate, during the call. Cost: a first round of all candidates, then rounds for two seconds.
[[nodiscard]] Choice choose(comm::Endpoint& endpoint,
                            task::Scheduler& scheduler,
                            const std::array<Index, 3>& lengths,
                            const PlanOptions& options);

}  // namespace plait::fft
