// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace ring {

/// Where a step's time goes: the rows of the table at the end of a run.
enum class Phase : std::uint8_t {
  decompose,  ///< Domain decomposition.
  exchange,   ///< Bodies that change their rank.
  make_tree,
  make_lets,      ///< Boundaries and locally essential trees for others.
  exchange_lets,  ///< Opening those of others, and all the time that workers have nothing to do.
  walk,
  kernel,
  other,
};
inline constexpr std::size_t phase_count = 8;

/// Time of workers by phase.
using PhaseTimes = std::array<std::chrono::nanoseconds, phase_count>;

/// Adds the time of its scope to one phase.
class PhaseTimer {
 public:
  PhaseTimer(PhaseTimes& times, Phase phase) : place_{times[static_cast<std::size_t>(phase)]} {}
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;
  PhaseTimer(PhaseTimer&&) = delete;
  PhaseTimer& operator=(PhaseTimer&&) = delete;
  ~PhaseTimer() {
    place_ += std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start_);
  }

 private:
  std::chrono::nanoseconds& place_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace ring
