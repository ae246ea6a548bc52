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
#include "plait/particles/neighbours/neighbour_lists.hpp"
#include "plait/particles/neighbours/short_range.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/space.hpp"
#include "plait/particles/times.hpp"
#include "plait/particles/trees/long_range.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::particles {

/// The distribution of a system's particles over ranks, and its schedule.
struct SystemOptions {
  Space space;
  DomainGrid grid = {0, 0, 0};                     ///< The ranks along each axis; zeros: as near a cube as possible.
  std::uint32_t steps_between_decompositions = 4;  ///< 0 decomposes once, at the start.
  /// Between two builds of trees, particles stay on their ranks, trees keep their shape, and ranks exchange the same
  /// particles with new values. 1 builds trees in every step.
  std::uint32_t steps_between_trees = 1;
  DecompositionOptions decomposition;
  /// The domain boundaries of an earlier run on the same grid (`System::gather_cuts`). Empty: computed from particles.
  std::vector<double> cuts;
  /// The steps of an earlier run that goes on. Each rank's store then has the particles of that rank after its last
  /// step, in their order, with their costs, and `cuts` are of that time. Nothing is distributed at the start, and the
  /// domain is decomposed at the same steps as in the unbroken run. 0: a run begins.
  std::uint64_t steps_before = 0;
};

/// Processes the particles [first, last) of a store.
using RangeFunction = std::function<void(Particles& store, std::size_t first, std::size_t last)>;

/// The particles of a parallel program and their interactions; a step is one task graph.
///
/// A step calls the functions of `before` (such as a drift), sends particles that have left this rank's domain to their
/// owners, builds trees, sums all interactions, and calls the functions of `after` (such as a kick). Periodically it
/// decomposes the domain by measured cost. No worker waits for all ranks. All ranks create the same system and call the
/// same functions in the same order. Threads: one at a time.
class System {
 public:
  /// Borrows `messages`, `scheduler` and `store`. `store` has any part of all particles; the first step sends them to
  /// their ranks. Throws: `Error` with `bad_argument` if the grid does not fit the ranks, or an option is invalid.
  System(comm::Endpoint& messages, task::Scheduler& scheduler, Particles& store, const SystemOptions& options = {});
  System(const System&) = delete;
  System& operator=(const System&) = delete;
  ~System();

  // The parts of a step, to be added before the first.

  LongRange& add_long_range(LongRangeOptions options);
  /// Any worker calls `kernel`, concurrently for different blocks. `results` are the fields to which it adds; all bytes
  /// zero must mean zero.
  Interaction& add_short_range(ShortRangeOptions search, std::vector<AnyField> results, ShortRangeKernel kernel);
  /// Each step finds neighbours. Throws: as `make_neighbour_lists`.
  NeighbourLists& add_neighbour_lists(NeighbourOptions options);
  Interaction& add(std::unique_ptr<Interaction> interaction);
  /// Several workers call `function` on parts of the particles, after the functions added earlier. `kind` names the
  /// tasks.
  void before(std::string kind, RangeFunction function);
  void after(std::string kind, RangeFunction function);
  /// One worker calls `function` when all sums are complete, before the functions of `after`.
  void when_summed(std::function<void()> function);

  /// Records each step in the trace (`StepRecord`). Borrows `recorder`.
  void record_to(trace::Recorder& recorder);

  /// Sums all interactions at the present positions. Throws: as `task::Scheduler::run`.
  void update();
  void step();

  /// Sets the time of the space's shear, for the positions that the next update or step sums at: after its drift. All
  /// ranks give the same. Images slide between two builds of trees, too; the error of received trees then grows as if
  /// particles moved as fast as images. Throws: `Error` with `bad_argument` if it is not finite.
  void set_time(double time);
  /// The space at this time.
  [[nodiscard]] const Space& space() const noexcept;

  /// Lets the next step build trees. All ranks call it after particles were added to any store, or removed, if
  /// `SystemOptions::steps_between_trees` is not 1. New particles travel to their owners over some steps, with the
  /// right forces on the way; `distribute` sends them at once.
  void particles_changed() noexcept;

  /// Decomposes the domain and sends all particles, from anywhere, to their owners. The first step or update calls it.
  void distribute();

  [[nodiscard]] const Domain& domain() const noexcept;
  /// Returns all domain boundaries, for files and pictures, equal on all ranks. Collective. Cost: O(ranks).
  [[nodiscard]] std::vector<double> gather_cuts();
  /// This rank's costs since the last call.
  [[nodiscard]] StepTimes take_times();

 private:
  struct State;
  template <class Work>
  void guarded(Work work);

  std::shared_ptr<State> state_;
};

}  // namespace plait::particles
