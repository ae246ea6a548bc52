// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/particles/domains/decompose.hpp"
#include "plait/particles/domains/domain.hpp"
#include "plait/particles/interaction.hpp"
#include "plait/particles/neighbours/short_range_sums.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/space.hpp"
#include "plait/particles/times.hpp"
#include "plait/particles/trees/long_range.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::particles {

/// How a system shares its particles among ranks and steps.
struct SystemOptions {
  Space space;
  DomainGrid grid = {0, 0, 0};                     ///< Ranks along each axis; none: as near a cube as it goes.
  std::uint32_t steps_between_decompositions = 4;  ///< 0: once, at the start.
  /// For so many steps, particles stay on their ranks, trees keep their shape, and ranks exchange the same particles,
  /// with new values. 1: trees are built in every step.
  std::uint32_t steps_between_trees = 1;
  DecompositionOptions decomposition;
  /// The boundaries of an earlier run on the same grid (`System::gather_cuts`); empty: the particles determine them.
  std::vector<double> cuts;
};

/// Works on the particles from `first` to `last` - 1 of a store.
using RangeFunction = std::function<void(Particles& store, std::size_t first, std::size_t last)>;

/// The particles of a parallel program, what acts between them, and one graph of tasks that is a step.
///
/// A step calls the functions given to `before`, such as a drift, sends particles that have left this rank's domain to
/// their owners, builds trees, sums all interactions, and calls the functions given to `after`, such as a kick. Every
/// few steps it decomposes the domain anew by measured cost. No worker waits for all ranks. All ranks create the same
/// system and call the same functions in the same order. Threads: one at a time.
class System {
 public:
  /// `messages`, `scheduler` and `store` must stay. `store` holds any part of all particles; the first step brings them
  /// to their ranks. Throws: `Error` with `bad_argument` when the grid does not fit the ranks, or the space makes no
  /// sense.
  System(comm::Endpoint& messages, task::Scheduler& scheduler, Particles& store, const SystemOptions& options = {});
  System(const System&) = delete;
  System& operator=(const System&) = delete;
  ~System();

  // The contents of a step: to be added before the first.

  LongRange& add_long_range(LongRangeOptions options);
  /// `kernel` is called by any worker, at the same time for different blocks. `results` are what it adds to.
  ShortRangeSums& add_short_range(ShortRangeOptions search, std::vector<AnyField> results, ShortRangeKernel kernel);
  Interaction& add(std::unique_ptr<Interaction> interaction);
  /// Called for parts of the particles, by several workers at once; after those given earlier. `kind` names the tasks.
  void before(std::string kind, RangeFunction function);
  void after(std::string kind, RangeFunction function);
  /// Called by one worker, when all sums of a step are complete, before what is to be done after.
  void when_summed(std::function<void()> function);

  /// Has each step noted in the trace, as `StepRecord` does. `recorder` must stay.
  void record_to(trace::Recorder& recorder);

  /// Sums up all interactions where the particles are now. Throws: as `task::Scheduler::run`.
  void update();
  void step();

  /// Decomposes the domain and sends all particles to their owners, from anywhere. The first step or update does so by
  /// itself.
  void distribute();

  [[nodiscard]] const Domain& domain() const noexcept;
  /// All domain boundaries, for files and pictures, the same on every rank. Collective. Cost: O(ranks).
  [[nodiscard]] std::vector<double> gather_cuts();
  /// This rank's costs since the last call.
  [[nodiscard]] StepTimes take_times();

 private:
  class Impl;
  void guarded(void (Impl::*work)());

  std::shared_ptr<Impl> impl_;
};

}  // namespace plait::particles
