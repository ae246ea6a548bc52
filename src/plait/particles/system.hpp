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
#include "plait/particles/decompose.hpp"
#include "plait/particles/domain.hpp"
#include "plait/particles/interaction.hpp"
#include "plait/particles/long_range.hpp"
#include "plait/particles/particles.hpp"
#include "plait/particles/short_range_sums.hpp"
#include "plait/particles/space.hpp"
#include "plait/particles/times.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::particles {

/// How a system shares its particles among ranks and steps.
struct SystemOptions {
  Space space;
  DomainGrid grid = {0, 0, 0};                     ///< Ranks along each axis; none: as near a cube as it goes.
  std::uint32_t steps_between_decompositions = 4;  ///< 0: the first is the last.
  /// For so many steps particles stay with their ranks, trees keep their shape, and ranks send each other the same
  /// particles, with new values. 1: all is made anew in every step.
  std::uint32_t steps_between_trees = 1;
  DecompositionOptions decomposition;
  /// Of an earlier run on the same grid (`System::gather_cuts`); empty: the space is cut by the particles as they are.
  std::vector<double> cuts;
  /// The first of 64 communicators that nobody else uses; those of two systems in one program differ by as many.
  comm::CommId first_comm{0x5000'0000};
};

/// Works on the particles from `first` to `last` - 1 of a store.
using RangeFunction = std::function<void(Particles& store, std::size_t first, std::size_t last)>;

/// The particles of a parallel program, what acts between them, and one graph of tasks that is a step.
///
/// A step calls what the program has given for `before` (a drift, say), hands particles that have left this rank's
/// domain to others, builds trees, sums up all interactions, and calls what was given for `after` (a kick). Every few
/// steps domains are cut anew by measured cost. Nothing of it keeps workers waiting for all ranks. All ranks make the
/// same system and call the same functions in the same order. Threads: one at a time.
class System {
 public:
  /// `messages`, `scheduler` and `store` must stay. `store` holds any part of all particles; the first step brings them
  /// to their ranks. Throws: `Error` with `bad_argument` when the grid does not fit the ranks, or the space makes no
  /// sense.
  System(comm::Endpoint& messages, task::Scheduler& scheduler, Particles& store, const SystemOptions& options = {});
  System(const System&) = delete;
  System& operator=(const System&) = delete;
  System(System&&) = delete;
  System& operator=(System&&) = delete;
  ~System();

  // What a step is made of: to be said before the first.

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

  /// Cuts the space and brings all particles to their ranks, from anywhere: what the first step or update does by
  /// itself.
  void distribute();

  [[nodiscard]] Particles& store() noexcept;
  [[nodiscard]] const Domain& domain() const noexcept;
  /// All cuts of the grid, for files and pictures, the same on every rank. Collective. Cost: O(ranks).
  [[nodiscard]] std::vector<double> gather_cuts();
  [[nodiscard]] std::uint64_t steps_done() const noexcept;
  /// This rank's costs since the last call.
  [[nodiscard]] StepTimes take_times();

 private:
  class Impl;
  void guarded(void (Impl::*work)());

  std::shared_ptr<Impl> impl_;
};

}  // namespace plait::particles
