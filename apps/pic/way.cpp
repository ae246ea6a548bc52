// SPDX-License-Identifier: Apache-2.0
#include "pic/way.hpp"

#include <cmath>

#include "pic/exact_sum.hpp"

namespace pic {

namespace {

/// One rank's part of `Totals`, as integers that ranks add in any order.
template <int D>
struct PartialTotals {
  void add(const Problem<D>& problem, const Patch<D>& patch, std::uint64_t steps);

  Totals counts;
  ExactSum kinetic;
  ExactSum momentum_x;
};

template <int D>
void PartialTotals<D>::add(const Problem<D>& problem, const Patch<D>& patch, std::uint64_t steps) {
  counts.particles += patch.particle_count();
  counts.absorbed += patch.absorbed;
  counts.checksum += checksum(patch);
  counts.misplaced += count_misplaced(problem, patch, steps);
  for (std::size_t species = 0; species < patch.species.size(); ++species) {
    const Particles<D>& particles = patch.species[species];
    const double mass = problem.physics.species[species].mass();
    for (std::size_t i = 0; i < particles.size(); ++i) {
      double square = 0;
      for (const auto& u : particles.momentum) {
        square += u[i] * u[i];
      }
      // Lorentz factor minus 1, without its cancellation.
      kinetic.add(mass * (square / (1 + std::sqrt(1 + square))));
      momentum_x.add(mass * particles.momentum[0][i]);
    }
  }
}

}  // namespace

template <int D>
GridWay<D>::GridWay(Problem<D> problem, int patches_per_rank, Ranks& ranks, PoissonOptions poisson)
    : problem_{std::move(problem)},
      ranks_{ranks},
      layout_{problem_.physics.grid, ranks.count(), patches_per_rank},
      solver_{problem_.physics, layout_.blocks, ranks, poisson},
      home_{problem_.physics, layout_, ranks} {}

template <int D>
Totals GridWay<D>::totals() {
  PartialTotals<D> mine;
  for (const Patch<D>* const patch : local_patches()) {
    mine.add(problem_, *patch, steps_);
  }
  std::array<std::int64_t, 4> counts{
      static_cast<std::int64_t>(mine.counts.particles),
      static_cast<std::int64_t>(mine.counts.absorbed),
      static_cast<std::int64_t>(mine.counts.checksum + solver_.checksum()),
      static_cast<std::int64_t>(mine.counts.misplaced),
  };
  ranks_.sum(counts);
  ranks_.sum(mine.kinetic.parts());
  ranks_.sum(mine.momentum_x.parts());
  const auto energies = solver_.energies();
  return {.particles = static_cast<std::uint64_t>(counts[0]),
          .absorbed = static_cast<std::uint64_t>(counts[1]),
          .checksum = static_cast<std::uint64_t>(counts[2]),
          .misplaced = static_cast<std::uint64_t>(counts[3]),
          .kinetic = mine.kinetic.value(),
          .electric = energies.electric,
          .magnetic = energies.magnetic,
          .momentum_x = mine.momentum_x.value()};
}

template class GridWay<2>;
template class GridWay<3>;

}  // namespace pic
