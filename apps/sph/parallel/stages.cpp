// SPDX-License-Identifier: Apache-2.0
// The work on a cell in each stage of a step.
#include <algorithm>
#include <numeric>

#include "sph/parallel/detail/simulation_impl.hpp"

namespace sph {

/// The fields of a density that neighbours read for forces.
std::vector<plait::particles::AnyField> Simulation::Impl::density_results() const {
  std::vector<plait::particles::AnyField> fields{
      fields_.smoothing, fields_.density, fields_.grad_h, fields_.viscosity, fields_.conduction};
  if (scheme_.kind == SchemeKind::reconstructed) {
    fields.insert(fields.end(), {fields_.strain_along, fields_.strain_across});
  }
  return fields;
}

void Simulation::Impl::add_stages() {
  system_.add_stage({.name = "density",
                     .kinds = {gas_kind},
                     .work = [this](const StageWork& work) { find_density(work); },
                     .reads_neighbours = true,
                     .reads = fields_of_sources(density_search_),
                     .writes = density_results()});
  system_.add_stage({.name = "force",
                     .kinds = {gas_kind},
                     .work = [this](const StageWork& work) { sum_cell_forces(work); },
                     .reads_neighbours = true,
                     .reads = fields_of_sources(force_search_)});
}

void Simulation::Impl::find_density(const StageWork& work) {
  SphWorker& worker = worker_of(work);
  worker.targets.assign(work.targets.begin(), work.targets.end());
  worker.searches.assign(worker.targets.size(), {});
  while (!worker.targets.empty()) {
    worker.again.clear();
    std::size_t first = 0;
    worker.density_blocks.for_blocks(work.table, work.cell, worker.targets, [&](const Block& block) {
      // Searches are in the order of the targets, which blocks keep.
      worker.sums += block.targets.size();
      find_block_density(block, worker, static_cast<float>(work.reach_max), first);
      first += block.targets.size();
    });
    worker.targets.swap(worker.again);
    worker.searches.swap(worker.searches_again);
    worker.searches_again.clear();
  }
}

/// The sources of a block; padding has mass 0.
DensitySources Simulation::Impl::density_sources(const Block& block, SphWorker& worker) const {
  const auto velocity = block.sources[fields_.velocity_now];
  worker.masses.assign(block.sources[fields_.mass].begin(), block.sources[fields_.mass].end());
  std::fill(worker.masses.begin() + static_cast<std::ptrdiff_t>(block.sources.size()), worker.masses.end(), 0.0F);
  return {.count = block.sources.padded_size(),
          .x = block.sources.x().data(),
          .y = block.sources.y().data(),
          .z = block.sources.z().data(),
          .velocity_x = velocity.x.data(),
          .velocity_y = velocity.y.data(),
          .velocity_z = velocity.z.data(),
          .mass = worker.masses.data()};
}

/// Improves smoothing lengths while the block has all neighbours; targets that need more are processed again.
void Simulation::Impl::find_block_density(const Block& block, SphWorker& worker, float longest, std::size_t first) {
  const Gas all = gas();
  const DensitySources sources = density_sources(block, worker);

  float whole = 0;  // the block is complete for smoothing lengths up to this
  for (const Particles::Index i : block.targets.places()) {
    whole = std::max(whole, all.smoothing[i]);
  }
  whole *= static_cast<float>(density_search_.reach_factor) / ratio();
  worker.left.resize(block.targets.size());
  std::iota(worker.left.begin(), worker.left.end(), 0U);
  while (!worker.left.empty()) {
    worker.density_targets.clear();
    for (const std::uint32_t k : worker.left) {
      worker.density_targets.push_back(density_target(all, block.targets.places()[k], block.centre));
    }
    worker.density_sums.resize(worker.left.size());
    sum_density(scheme_.kernel, worker.density_targets, sources, worker.density_sums);
    std::size_t kept = 0;
    for (std::size_t j = 0; j < worker.left.size(); ++j) {
      const std::uint32_t k = worker.left[j];
      const Particles::Index i = block.targets.places()[k];
      const DensitySums& sums = worker.density_sums[j];
      SmoothingSearch& search = worker.searches[first + k];
      const float before = all.smoothing[i];
      const bool is_found = improve_smoothing(all, i, sums, scheme_, search) == Smoothing::found;
      if (is_found || (before >= longest && all.smoothing[i] > longest)) {
        if (!is_found) {
          all.smoothing[i] = before;
          system_.list_neighbours_anew();
        }
        finish_density(all, i, sums, scheme_);
        continue;
      }
      all.smoothing[i] = std::min(all.smoothing[i], std::max(longest, before));
      if (all.smoothing[i] <= whole) {
        worker.left[kept++] = k;
      } else {
        worker.again.push_back(i);
        worker.searches_again.push_back(search);
      }
    }
    worker.left.resize(kept);
  }
}

void Simulation::Impl::sum_cell_forces(const StageWork& work) {
  SphWorker& worker = worker_of(work);
  worker.force_blocks.for_blocks(
      work.table, work.cell, work.targets, [&](const Block& block) { sum_block_forces(block, worker); });
}

void Simulation::Impl::sum_block_forces(const Block& block, SphWorker& worker) {
  const Gas all = gas();
  ForceSources sources{density_sources(block, worker)};
  sources.smoothing = block.sources[fields_.smoothing].data();
  sources.density = block.sources[fields_.density].data();
  sources.grad_h = block.sources[fields_.grad_h].data();
  sources.energy = block.sources[fields_.energy_now].data();
  sources.viscosity = block.sources[fields_.viscosity].data();
  sources.conduction = block.sources[fields_.conduction].data();
  if (scheme_.kind == SchemeKind::reconstructed) {
    const auto along = block.sources[fields_.strain_along];
    const auto across = block.sources[fields_.strain_across];
    sources.strain_xx = along.x.data(), sources.strain_yy = along.y.data(), sources.strain_zz = along.z.data();
    sources.strain_yz = across.x.data(), sources.strain_xz = across.y.data(), sources.strain_xy = across.z.data();
  }
  worker.force_targets.clear();
  for (const Particles::Index i : block.targets.places()) {
    worker.force_targets.push_back(force_target(all, i, block.centre));
  }
  worker.force_sums.resize(worker.force_targets.size());
  sum_forces(scheme_, worker.force_targets, sources, worker.force_sums);
  for (std::size_t k = 0; k < worker.force_sums.size(); ++k) {
    finish_forces(all, block.targets.places()[k], worker.force_sums[k]);
  }
}

}  // namespace sph
