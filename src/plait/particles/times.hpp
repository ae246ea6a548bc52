// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace plait::particles {

using std::chrono::nanoseconds;

/// Where a step's time goes: the rows of the table at the end of a run.
enum class Phase : std::uint8_t {
  decompose,  ///< Domain decomposition.
  exchange,   ///< Particles that change their rank.
  make_tree,
  make_lets,      ///< Boundaries and locally essential trees for others.
  exchange_lets,  ///< Opening those of others.
  walk,
  kernel,
  short_range,  ///< Neighbour search and short-range kernels.
  other,        ///< What the program does before and after.
};
inline constexpr std::size_t phase_count = 9;

/// Time of workers by phase.
using PhaseTimes = std::array<nanoseconds, phase_count>;

/// Adds `from` to `to` and sets it to zero.
void move_times(PhaseTimes& from, PhaseTimes& to);

/// Adds the time of its scope to one phase.
class PhaseTimer {
 public:
  PhaseTimer(PhaseTimes& times, Phase phase) : place_{times[static_cast<std::size_t>(phase)]} {}
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;
  ~PhaseTimer() { place_ += std::chrono::duration_cast<nanoseconds>(std::chrono::steady_clock::now() - start_); }

 private:
  nanoseconds& place_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// What steps have cost on one rank, since the start or the last call that took them. Travels in messages.
struct StepTimes {
  std::uint64_t steps = 0;
  nanoseconds wall{};
  nanoseconds idle{};              ///< Of all workers.
  PhaseTimes phases{};             ///< Of all workers.
  std::uint64_t interactions = 0;  ///< Of pairs of particles, and of particles with cells.
  std::uint64_t let_count = 0;     ///< Locally essential trees that were sent.
  std::uint64_t let_bytes = 0;

  [[nodiscard]] nanoseconds& operator[](Phase phase) { return phases[static_cast<std::size_t>(phase)]; }
  [[nodiscard]] nanoseconds operator[](Phase phase) const { return phases[static_cast<std::size_t>(phase)]; }
};

/// The times of all ranks as a table for people: milliseconds a step, mean and largest over ranks. Time in which
/// workers had nothing to do counts as waiting for what others send.
[[nodiscard]] std::string times_table(std::span<const StepTimes> ranks, std::uint32_t workers);

}  // namespace plait::particles
