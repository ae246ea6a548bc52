// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "plait/comm/collectives/group.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/comm/request.hpp"
#include "plait/particles/steps/integrator.hpp"
#include "plait/particles/steps/time_steps.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/task/time_line.hpp"

namespace plait::particles::detail {

/// Steps that all particles take together, fixed or as short as any needs: what one does with the particles, and how
/// long it is.
class EqualSteps {
 public:
  /// Throws: `Error` with `bad_argument` if the steps have no length.
  EqualSteps(comm::Endpoint& messages,
             Integrator integrator,
             const TimeSteps& steps,
             std::vector<StepCriterion> criteria,
             std::uint32_t workers);
  EqualSteps(const EqualSteps&) = delete;
  EqualSteps& operator=(const EqualSteps&) = delete;

  /// Goes on from there, before the first step.
  void resume(const SavedSteps& saved);
  void save(SavedSteps& saved) const;

  // For the particles [first, last), by any worker, concurrently for different ones.

  /// Half a kick and the drift, before forces are summed.
  void begin(Particles& store, std::size_t first, std::size_t last) const;
  /// Half a kick.
  void end(Particles& store, std::size_t first, std::size_t last) const;
  /// Notes how long their next step may be.
  void limit(const Particles& store, std::size_t first, std::size_t last, std::uint32_t worker);

  /// Whether ranks agree on the length of each step.
  [[nodiscard]] bool are_chosen() const noexcept { return steps_.lengths == StepLengths::equal; }
  /// Begins the reduction of what `limit` noted. Its result takes effect with `choose` or `advance`.
  [[nodiscard]] comm::Request agree();
  /// Sets the length of the first step, unless it is fixed. Throws: `Error` with `bad_input` if it is too short.
  void choose();
  /// Ends a step, and sets the length of the next. Throws: as above.
  void advance();

  [[nodiscard]] double length() const noexcept { return length_; }
  [[nodiscard]] double time() const noexcept { return time_; }
  [[nodiscard]] bool is_over() const noexcept { return are_chosen() && now_ >= task::line_ticks; }

 private:
  /// The duration of a kick of this step, between two fractions of it.
  [[nodiscard]] double kick_duration(double from, double to) const;
  [[nodiscard]] double drift_duration() const;

  const Integrator integrator_;
  const TimeSteps steps_;
  const std::vector<StepCriterion> criteria_;
  const task::TimeLine line_;
  comm::Group all_;
  std::vector<double> noted_;  ///< By worker: the longest step that its particles may take.
  double agreed_ = 0;
  task::Ticks now_ = 0;
  task::TimeBin bin_;
  double length_ = 0;  ///< Of the present or next step.
  double time_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace plait::particles::detail
