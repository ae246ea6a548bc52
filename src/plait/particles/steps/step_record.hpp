// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "plait/particles/times.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::particles {

/// Records the steps of a particle code in the trace, as counters of each rank. `plait report` draws its workload plot
/// and phase table from them. This class defines the names.
class StepRecord {
 public:
  /// Borrows `recorder`. Registers names in the trace.
  explicit StepRecord(trace::Recorder& recorder);

  struct Step {
    std::uint32_t number = 0;
    std::uint64_t particles = 0;  ///< On this rank: "particles here".
    std::uint64_t updated = 0;    ///< Those with new forces: "particles updated".
    nanoseconds took{};           ///< "step time (ms)".
  };
  /// Records a step, unless the recorder is off. `phases` are the times of this step on all workers: "phase walk (ms)"
  /// and so on, if not zero.
  void note(const Step& step, const PhaseTimes& phases);

  /// The name of a phase in tables.
  [[nodiscard]] static const char* name_of(Phase phase) noexcept;

 private:
  trace::Recorder& recorder_;
  trace::NameId here_;
  trace::NameId updated_;
  trace::NameId took_;
  std::array<trace::NameId, phase_count> phases_;
};

}  // namespace plait::particles
