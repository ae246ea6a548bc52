// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

#include "sph/gas.hpp"
#include "sph/scheme.hpp"

namespace sph {

enum class Steps : std::uint8_t {
  individual,  ///< Each particle has its own.
  equal,       ///< All particles take the shortest step that any needs.
};

struct SimulationOptions {
  Scheme scheme;  ///< With gravity if it has a constant; the space must then be open.
  plait::particles::Space space;
  Steps steps = Steps::individual;
  plait::particles::CellOptions cells;
  double begin = 0;  ///< Time of the particles.
  double end = 1;    ///< Time of the last step's end.
  double step_max = std::numeric_limits<double>::infinity();
  double step_min = 0;  ///< A particle that needs a shorter step ends the run. At least 2^-55 of the run.
  std::optional<plait::particles::StepFields> step_fields = {};  ///< Absent: it adds them to the store.
  /// A run goes on from here: each rank has the particles of that rank with all their fields, in their order. `begin`
  /// and `end` are those of its time line.
  std::optional<plait::particles::SavedSteps> resumed = {};
};

struct StepReport {
  double time = 0;                 ///< Of its end.
  double step = 0;                 ///< Since the previous step.
  std::uint64_t updated = 0;       ///< Particles of all ranks whose own step ended.
  std::uint64_t updated_here = 0;  ///< Those of this rank.
  std::uint64_t density_sums = 0;  ///< Sums over neighbours on this rank; a new smoothing length takes several.
  bool made_cells = false;         ///< Neighbour lists were rebuilt before it.
};

/// Gas on the ranks of a run, in steps that each update the particles whose own steps end.
///
/// A step drifts the particles that active ones may read, computes smoothing lengths, densities and forces of the
/// active ones, ends their steps and begins new ones. A particle near one whose step is shorter than a quarter of its
/// own is woken. All ranks call the same functions in the same order. Threads: one at a time.
class Simulation {
 public:
  /// Computes the first forces, unless a run goes on. `store` holds any part of all particles, which are sent to their
  /// owners. Borrows all but the options. Throws, like the functions below: as `plait::task::Scheduler::run`; errors of
  /// `particle_work.hpp` name the particle.
  Simulation(plait::comm::Endpoint& messages,
             plait::task::Scheduler& scheduler,
             Particles& store,
             const GasFields& fields,
             const SimulationOptions& options);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  ~Simulation();

  /// Advances to the next time at which any particle's step ends.
  StepReport step();
  [[nodiscard]] bool is_over() const noexcept;
  /// Predicts all particles to the present time and computes potentials. All ranks call it.
  void synchronise();
  /// Predicts all particles to the present time, and lets the next step build cells. A run that goes on from the result
  /// and all fields of the particles makes bitwise the same steps on the same number of ranks, at most two, as far as
  /// the scheme is the same; without gravity, on any number of ranks. All ranks call it.
  [[nodiscard]] plait::particles::SavedSteps save();

 private:
  class Impl;

  std::unique_ptr<Impl> impl_;
};

}  // namespace sph
