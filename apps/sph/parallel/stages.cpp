// SPDX-License-Identifier: Apache-2.0
// The work on a cell in each stage of a step.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "sph/parallel/detail/simulation_impl.hpp"

namespace sph {

namespace {

namespace task = plait::task;
using plait::particles::Cell;
using plait::particles::Who;

constexpr std::uint64_t gas_only = 1ULL << gas_kind;
/// Neighbour lists hold for smoothing lengths that grow by this factor.
constexpr double smoothing_growth_max = 1.2;

}  // namespace

/// The fields that neighbours read and a drift changes.
std::vector<plait::particles::AnyField> Simulation::Impl::drifting_fields() const {
  std::vector<plait::particles::AnyField> fields = density_results();
  fields.insert(fields.end(), {Particles::position, fields_.velocity_now, fields_.energy_now, step_fields_.bin_seen});
  return fields;
}

/// The fields of a density that neighbours read for forces.
std::vector<plait::particles::AnyField> Simulation::Impl::density_results() const {
  std::vector<plait::particles::AnyField> fields{
      fields_.smoothing, fields_.density, fields_.grad_h, fields_.viscosity, fields_.conduction};
  if (scheme_.kind == SchemeKind::reconstructed) {
    fields.insert(fields.end(), {fields_.strain_along, fields_.strain_across});
  }
  return fields;
}

std::vector<CellStage> Simulation::Impl::stages() {
  const auto stage = [this](void (Impl::*body)(const CellWork&)) {
    return [this, body](const CellWork& work) { (this->*body)(work); };
  };
  std::vector<CellStage> all;
  all.push_back({.name = "drift",
                 .who = Who::near_active,
                 .work = stage(&Impl::drift_cell),
                 .refreshes = drifting_fields(),
                 .moves = true});
  all.push_back({.name = "density", .reads_neighbours = true, .work = stage(&Impl::find_density)});
  all.push_back(
      {.name = "density done", .work = [](const CellWork&) {}, .refreshes = density_results(), .moves = true});
  all.push_back({.name = "force", .reads_neighbours = true, .work = stage(&Impl::sum_cell_forces)});
  all.push_back({.name = "end steps",
                 .work = stage(&Impl::end_steps),
                 .refreshes = {Particles::position, fields_.smoothing, step_fields_.bin_seen}});
  all.push_back(
      {.name = "begin steps", .who = Who::near_active, .reads_neighbours = true, .work = stage(&Impl::begin_steps)});
  return all;
}

double Simulation::Impl::smoothing_max(std::uint32_t cell) const {
  return smoothing_growth_max * static_cast<double>(cells_[cell].made.reach / ratio());
}

void Simulation::Impl::find_active(const CellWork& work, SphWorker& worker, std::uint64_t kinds) const {
  const Cell& cell = table_[work.cell];
  const auto bins = std::as_const(store_)[step_fields_.bin];
  const auto kind = std::as_const(store_)[Particles::kind];
  worker.targets.clear();
  const std::uint8_t longest = is_starting_ ? task::longest_bin.value() : task::longest_active(work.now).value();
  for (Particles::Index i = cell.first; i < cell.first + cell.count; ++i) {
    if (bins[i] <= longest && (kinds >> kind[i] & 1U) != 0) {
      worker.targets.push_back(i);
    }
  }
}

void Simulation::Impl::drift_cell(const CellWork& work) {
  const Cell& cell = table_[work.cell];
  CellState& state = cells_[work.cell];
  const double duration = line_.duration(work.now - state.drifted);
  const Gas all = gas();
  const auto bins = store_[step_fields_.bin];
  const auto seen = store_[step_fields_.bin_seen];
  double speed2 = 0;
  for (Particles::Index i = cell.first; i < cell.first + cell.count; ++i) {
    if (duration > 0) {
      drift(all, i, scheme_, duration);
    }
    seen[i] = bins[i];
    speed2 = std::max(speed2, dot(all.velocity[i], all.velocity[i]));
  }
  state.drifted = work.now;
  state.speed_max = std::sqrt(speed2);
}

void Simulation::Impl::find_density(const CellWork& work) {
  SphWorker& worker = worker_of(work);
  find_active(work, worker, gas_only);
  worker.searches.assign(worker.targets.size(), {});
  while (!worker.targets.empty()) {
    worker.again.clear();
    std::size_t first = 0;
    worker.density_blocks.for_blocks(table_, work.cell, worker.targets, [&](const Block& block) {
      // Searches are in the order of the targets, which blocks keep.
      worker.sums += block.targets.size();
      find_block_density(block, worker, work.cell, first);
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
void Simulation::Impl::find_block_density(const Block& block,
                                          SphWorker& worker,
                                          std::uint32_t cell,
                                          std::size_t first) {
  const Gas all = gas();
  const DensitySources sources = density_sources(block, worker);

  float whole = 0;  // the block is complete for smoothing lengths up to this
  for (const Particles::Index i : block.targets.places()) {
    whole = std::max(whole, all.smoothing[i]);
  }
  whole *= static_cast<float>(density_search_.reach_factor) / ratio();
  const auto longest = static_cast<float>(smoothing_max(cell));
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
          is_cramped_.store(true, std::memory_order_relaxed);  // read after the run
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

void Simulation::Impl::sum_cell_forces(const CellWork& work) {
  SphWorker& worker = worker_of(work);
  find_active(work, worker, gas_only);
  worker.force_blocks.for_blocks(
      table_, work.cell, worker.targets, [&](const Block& block) { sum_block_forces(block, worker); });
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

void Simulation::Impl::end_steps(const CellWork& work) {
  if (is_starting_) {
    return;
  }
  SphWorker& worker = worker_of(work);
  find_active(work, worker, ~0ULL);
  const Gas all = gas();
  const auto bins = store_[step_fields_.bin];
  const auto seen = store_[step_fields_.bin_seen];
  const auto begins = store_[step_fields_.begin];
  const auto costs = store_[Particles::cost];
  const TimeBin longest = task::longest_active(work.now);
  for (const Particles::Index i : worker.targets) {
    kick(all, i, scheme_, line_.duration(work.now - begins[i]) / 2);
    settle(all, i);
    const double wanted = std::min(time_step(all, i, scheme_, shortest_step_), options_.step_max);
    bins[i] = std::min(line_.bin_for(wanted), longest).value();
    seen[i] = bins[i];
    begins[i] = work.now;
    costs[i] += 1;
  }
}

void Simulation::Impl::begin_steps(const CellWork& work) {
  if (is_starting_ || options_.steps == Steps::equal) {
    return;  // equal steps begin when all ranks know the shortest
  }
  SphWorker& worker = worker_of(work);
  limiter_.limit(work.cell, work.now, worker.limiter);
  find_active(work, worker, ~0ULL);
  const Gas all = gas();
  const auto bins = store_[step_fields_.bin];
  const auto begins = store_[step_fields_.begin];
  for (const Particles::Index i : worker.targets) {
    if (begins[i] == work.now) {  // a woken particle continues its step
      kick(all, i, scheme_, line_.duration(task::ticks_of(TimeBin{bins[i]})) / 2);
    }
  }
}

/// Shortens the step of a particle, and corrects the kick by half of the longer step.
void Simulation::Impl::wake(Particles::Index i, TimeBin bin, Ticks now) {
  std::uint8_t& its = store_[step_fields_.bin][i];
  const Ticks begin = store_[step_fields_.begin][i];
  if (begin != now) {
    const double was = line_.duration(task::next_active(TimeBin{its}, now) - begin);
    const double is = line_.duration(task::next_active(bin, now) - begin);
    kick(gas(), i, scheme_, (is - was) / 2);
  }
  its = bin.value();
}

}  // namespace sph
