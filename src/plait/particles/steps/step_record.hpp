// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "plait/particles/times.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::particles {

/// Records the steps of a particle code in the trace: counters of each rank, from which `plait report` makes its
/// workload plot and phase table. The names are defined here only.
class StepRecord {
 public:
  /// Takes names in the trace. `recorder` must stay. Nothing is noted while it is off.
  explicit StepRecord(trace::Recorder& recorder);

  struct Step {
    std::uint32_t number = 0;
    std::uint64_t particles = 0;  ///< On this rank: "particles here".
    std::uint64_t updated = 0;    ///< Of these, that got new forces: "particles updated".
    nanoseconds took{};           ///< "step time (ms)".
  };
  /// `phases` of this step alone, of all workers: "phase walk (ms)" and so on, of each that took time.
  void note(const Step& step, const PhaseTimes& phases);

  /// As tables call it.
  [[nodiscard]] static const char* name_of(Phase phase) noexcept;

 private:
  trace::Recorder& recorder_;
  trace::NameId here_;
  trace::NameId updated_;
  trace::NameId took_;
  std::array<trace::NameId, phase_count> phases_;
};

}  // namespace plait::particles
