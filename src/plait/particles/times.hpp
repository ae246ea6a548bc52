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

/// The phases of a step: the rows of the table at the end of a run.
enum class Phase : std::uint8_t {
  decompose,  ///< Domain decomposition.
  exchange,   ///< Migration of particles between ranks.
  make_tree,
  make_lets,      ///< Boundaries and locally essential trees for other ranks.
  exchange_lets,  ///< Checking those of other ranks.
  walk,
  kernel,
  short_range,  ///< Neighbour search and short-range kernels.
  mesh,         ///< Forces from a mesh, without its transforms.
  other,        ///< The program's own functions.
};
inline constexpr std::size_t phase_count = 10;

/// The time of workers by phase.
using PhaseTimes = std::array<nanoseconds, phase_count>;

/// Adds `from` to `to`, and sets `from` to zero.
void move_times(PhaseTimes& from, PhaseTimes& to);

/// Measures the time of its scope and adds it to one phase.
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

/// The cost of steps on one rank, since the start or the last `System::take_times`. Trivially copyable.
struct StepTimes {
  std::uint64_t steps = 0;
  nanoseconds wall{};
  nanoseconds idle{};              ///< Of all workers.
  PhaseTimes phases{};             ///< Of all workers.
  std::uint64_t interactions = 0;  ///< Body-body and body-cell.
  std::uint64_t let_count = 0;     ///< Locally essential trees that this rank sent.
  std::uint64_t let_bytes = 0;

  [[nodiscard]] nanoseconds& operator[](Phase phase) { return phases[static_cast<std::size_t>(phase)]; }
  [[nodiscard]] nanoseconds operator[](Phase phase) const { return phases[static_cast<std::size_t>(phase)]; }
};

/// Formats the times of all ranks as a table: milliseconds a step, mean and maximum over ranks. Idle time of workers
/// counts as waiting for locally essential trees.
[[nodiscard]] std::string times_table(std::span<const StepTimes> ranks, std::uint32_t workers);

}  // namespace plait::particles
