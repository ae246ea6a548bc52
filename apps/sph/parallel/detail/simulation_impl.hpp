// SPDX-License-Identifier: Apache-2.0
#pragma once

// The implementation of `Simulation`. simulation.cpp starts and steps it; stages.cpp processes one cell.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

#include "sph/parallel/simulation.hpp"
#include "sph/particle_work.hpp"

namespace sph {

using plait::Ticks;
using plait::TimeBin;
using plait::particles::Block;
using plait::particles::BlockMaker;
using plait::particles::CellStage;
using plait::particles::CellWork;

/// A worker's memory for its blocks, reused.
struct SphWorker {
  SphWorker(const plait::particles::ShortRangeOptions& density, const plait::particles::ShortRangeOptions& force)
      : density_blocks{density}, force_blocks{force} {}

  BlockMaker density_blocks;
  BlockMaker force_blocks;
  std::vector<Particles::Index> targets;
  std::vector<Particles::Index> again;
  std::vector<SmoothingSearch> searches;
  std::vector<SmoothingSearch> searches_again;
  std::vector<std::uint32_t> left;
  std::vector<DensityTarget> density_targets;
  std::vector<DensitySums> density_sums;
  std::vector<ForceTarget> force_targets;
  std::vector<ForceSums> force_sums;
  plait::particles::StepLimiter::Buffers limiter;
  std::vector<float> masses;
  std::uint64_t sums = 0;
};

class Simulation::Impl {
 public:
  using Ask = plait::particles::Ask;

  Impl(plait::comm::Endpoint& messages,
       plait::task::Scheduler& scheduler,
       Particles& store,
       const GasFields& fields,
       const SimulationOptions& options);

  StepReport step();
  void synchronise();
  StepState save();
  /// Computes cells, densities and first forces.
  void start();
  [[nodiscard]] plait::comm::Endpoint& messages() noexcept { return messages_; }
  [[nodiscard]] bool is_over() const noexcept { return now_ >= plait::line_ticks; }

 private:
  /// A cell as it was when neighbours were listed, and bounds of where it is now.
  struct CellState {
    plait::particles::Extent made;
    Ticks drifted = 0;
    double speed_max = 0;
  };

  void make_cells();
  void divide();
  void distribute();
  void find_gravity();
  void begin_steps_of_all();
  void take_equal_steps();
  void drift_all();
  [[nodiscard]] std::vector<CellStage> stages();
  [[nodiscard]] bool must_make_cells(Ticks next) const;
  [[nodiscard]] std::vector<plait::particles::AnyField> drifting_fields() const;
  [[nodiscard]] std::vector<plait::particles::AnyField> density_results() const;

  // Stages: the work on a cell.
  void drift_cell(const CellWork& work);
  void find_density(const CellWork& work);
  void sum_cell_forces(const CellWork& work);
  void end_steps(const CellWork& work);
  void begin_steps(const CellWork& work);

  void find_block_density(const Block& block, SphWorker& worker, std::uint32_t cell, std::size_t first);
  void sum_block_forces(const Block& block, SphWorker& worker);
  [[nodiscard]] DensitySources density_sources(const Block& block, SphWorker& worker) const;
  void wake(Particles::Index i, TimeBin bin, Ticks now);
  /// The active particles of a cell, into the worker's `targets`.
  void find_active(const CellWork& work, SphWorker& worker, std::uint64_t kinds) const;
  [[nodiscard]] SphWorker& worker_of(const CellWork& work) { return *workers_[work.context.worker().value()]; }
  [[nodiscard]] Gas gas() { return {store_, fields_}; }
  [[nodiscard]] float ratio() const { return support_ratio(scheme_.kernel); }
  [[nodiscard]] double smoothing_max(std::uint32_t cell) const;

  plait::comm::Endpoint& messages_;
  plait::task::Scheduler& scheduler_;
  Particles& store_;
  const GasFields fields_;
  const StepFields step_fields_;
  const SimulationOptions options_;
  const Scheme& scheme_ = options_.scheme;
  const plait::TimeLine line_;
  const plait::particles::ShortRangeOptions density_search_;
  const plait::particles::ShortRangeOptions force_search_;
  plait::comm::Group all_;
  plait::particles::Decomposition decomposition_;
  plait::particles::Domain domain_;
  plait::particles::ParticleExchange exchange_;
  std::unique_ptr<plait::particles::LongRange> gravity_;  ///< Null without gravity.
  Particles ghosts_;
  plait::particles::CellTable table_;
  plait::particles::StepLimiter limiter_;
  plait::particles::Halo halo_;
  std::vector<CellState> cells_;
  std::vector<Vector> gravity_before_;  ///< During `synchronise`.
  std::unique_ptr<plait::particles::CellSteps> steps_;
  std::vector<std::unique_ptr<SphWorker>> workers_;
  double shortest_step_ = 0;
  Ticks now_ = options_.resumed ? options_.resumed->now : 0;
  Ticks next_ = 0;
  bool is_starting_ = !options_.resumed;  ///< No step has begun.
  bool wants_cells_ = !is_starting_;      ///< Agreed by all ranks: new cells before the next step.
  std::atomic<bool> is_cramped_ = false;  ///< A smoothing length needs to exceed what the neighbour list allows.
};

}  // namespace sph
