// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/fft/plan.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::fft {

/// How a way of exchanging is chosen.
struct ChooseOptions {
  std::size_t in_flight = 3;                       ///< Transforms that are carried out together.
  std::size_t rounds = 5;                          ///< In which the candidates alternate, at most.
  nanoseconds time_max = std::chrono::seconds{2};  ///< No further round begins after this.
  double slower_max = 1.5;                         ///< Who takes so much longer than the best leaves.
};

/// One way, and what it took.
struct Candidate {
  std::string variant;
  std::uint32_t pieces = 0;
  double seconds = 0;   ///< Least of its rounds, there and back of all in flight, on the slowest rank; 0: none.
  std::string missing;  ///< Why it cannot work here; empty when it can.
};

/// The same on all ranks.
struct Choice {
  std::string variant;
  std::uint32_t pieces = 0;
  std::vector<Candidate> candidates;  ///< The fastest first, those that cannot work last.

  /// A line a candidate, for people.
  [[nodiscard]] std::string describe() const;
};

/// Measures every way of exchanging that `options` has (`variants()` and `more`; of PLT several numbers of pieces,
/// unless one is asked for) on the transform itself, in alternating rounds with several in flight, and chooses the
/// fastest by its slowest rank. What `Plan` does for the variant "automatic".
///
/// Collective; all ranks choose alike. Memory: that of `in_flight` transforms with their arrays, for the time of the
/// call. Cost: a first round of all candidates, then rounds until `time_max`. Throws: as the constructor of `Plan`.
[[nodiscard]] Choice choose(comm::Endpoint& endpoint,
                            task::Scheduler& scheduler,
                            const std::array<Index, 3>& lengths,
                            const PlanOptions& options,
                            const ChooseOptions& how = {});

}  // namespace plait::fft
