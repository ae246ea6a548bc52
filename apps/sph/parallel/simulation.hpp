// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

#include "sph/gas.hpp"
#include "sph/scheme.hpp"

namespace sph {

enum class Steps : std::uint8_t {
  individual,  ///< Each particle has its own.
  equal,       ///< All take the shortest that any needs.
};

struct SimulationOptions {
  Scheme scheme;  ///< With gravity, where it has a constant; spaces are open then.
  plait::particles::Space space;
  Steps steps = Steps::individual;
  plait::particles::CellOptions cells;
  double begin = 0;  ///< Time of the particles,
  double end = 1;    ///< and where the run ends, at the latest.
  double step_max = std::numeric_limits<double>::infinity();
  double step_min = 0;  ///< A particle that needs a shorter one ends the run. At least a 2^-55 of the run.
};

/// What a step has done.
struct StepReport {
  double time = 0;                 ///< Of its end.
  double step = 0;                 ///< From the step before.
  std::uint64_t updated = 0;       ///< Particles of all ranks whose own step ended,
  std::uint64_t updated_here = 0;  ///< and those on this rank.
  /// Of this rank: sums over neighbours, of which a new smoothing length takes several.
  std::uint64_t density_sums = 0;
  std::uint32_t active_cells = 0;  ///< Of this rank, as what follows.
  std::uint32_t messages = 0;
  std::uint64_t bytes = 0;
  bool made_cells = false;  ///< The cells were made anew before it.
};

/// Gas on the ranks of a run, in steps that each update the particles that need it.
///
/// A step drifts what active particles may see, finds their smoothing lengths and densities, sums forces, ends their
/// steps and begins new ones; a particle near to one with steps shorter than a quarter of its own is woken. All ranks
/// call the same functions in the same order. Threads: one at a time.
class Simulation {
 public:
  /// `store` holds any part of all particles; they come to their ranks. All must stay. Computes the first forces.
  /// Throws, as all that follows: as `plait::task::Scheduler::run`; errors of `particle_work.hpp` name the particle.
  Simulation(plait::comm::Endpoint& messages,
             plait::task::Scheduler& scheduler,
             Particles& store,
             const GasFields& fields,
             const SimulationOptions& options);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  ~Simulation();

  /// Goes to the next time at which any particle is to be updated.
  StepReport step();
  [[nodiscard]] bool is_over() const noexcept;
  [[nodiscard]] double time() const noexcept;
  /// Brings all particles to the present time: predicts what those whose step goes on are now, and finds potentials.
  /// All ranks call it.
  void synchronise();

 private:
  class Impl;
  template <class Work>
  auto guarded(Work work);

  std::shared_ptr<Impl> impl_;
};

}  // namespace sph
