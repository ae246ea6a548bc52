// SPDX-License-Identifier: Apache-2.0
#pragma once

// The implementation of `Simulation`. simulation.cpp declares the parts of a step; stages.cpp processes one cell.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

#include "sph/parallel/simulation.hpp"
#include "sph/particle_work.hpp"

namespace sph {

using plait::particles::Block;
using plait::particles::BlockMaker;
using plait::particles::StageWork;

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
  std::vector<float> masses;
  std::uint64_t sums = 0;
};

class Simulation::Impl {
 public:
  Impl(plait::comm::Endpoint& messages,
       plait::task::Scheduler& scheduler,
       Particles& store,
       const GasFields& fields,
       const SimulationOptions& options);

  StepReport step();
  [[nodiscard]] plait::particles::System& system() noexcept { return system_; }

 private:
  void add_stages();
  void add_gravity();
  [[nodiscard]] plait::particles::Integrator integrator();
  [[nodiscard]] std::vector<plait::particles::AnyField> density_results() const;
  void limit_steps(std::span<const Particles::Index> places, std::span<double> longest);

  // Stages: the work on a cell.
  void find_density(const StageWork& work);
  void sum_cell_forces(const StageWork& work);

  void find_block_density(const Block& block, SphWorker& worker, float longest, std::size_t first);
  void sum_block_forces(const Block& block, SphWorker& worker);
  [[nodiscard]] DensitySources density_sources(const Block& block, SphWorker& worker) const;
  [[nodiscard]] SphWorker& worker_of(const StageWork& work) { return *workers_[work.context.worker().value()]; }
  [[nodiscard]] Gas gas() { return {store_, fields_}; }
  [[nodiscard]] float ratio() const { return support_ratio(scheme_.kernel); }

  Particles& store_;
  const GasFields fields_;
  const SimulationOptions options_;
  const Scheme& scheme_ = options_.scheme;
  const plait::particles::ShortRangeOptions density_search_;
  const plait::particles::ShortRangeOptions force_search_;
  const double shortest_step_;
  plait::particles::System system_;
  std::vector<std::unique_ptr<SphWorker>> workers_;
};

}  // namespace sph
