// SPDX-License-Identifier: Apache-2.0
#include "pic/way.hpp"

#include <cmath>

#include "pic/exact_sum.hpp"

namespace pic {

template <int D>
GridWay<D>::GridWay(Problem<D> problem, int patches_per_rank, Ranks& ranks, PoissonOptions poisson)
    : problem_{std::move(problem)},
      ranks_{ranks},
      layout_{problem_.physics.grid, ranks.count(), patches_per_rank},
      solver_{problem_.physics, layout_.blocks, ranks, poisson},
      home_{problem_.physics, layout_, ranks} {}

template <int D>
Totals GridWay<D>::totals() {
  // Integers, which ranks add in any order.
  std::array<std::int64_t, 4> counts{0, 0, static_cast<std::int64_t>(solver_.checksum()), 0};
  ExactSum kinetic;
  ExactSum momentum_x;
  for (const Patch<D>* const patch : local_patches()) {
    counts[0] += static_cast<std::int64_t>(patch->particle_count());
    counts[1] += static_cast<std::int64_t>(patch->absorbed);
    counts[2] = static_cast<std::int64_t>(static_cast<std::uint64_t>(counts[2]) + patch->checksum());
    counts[3] += static_cast<std::int64_t>(problem_.count_misplaced(*patch, steps_));
    for (std::size_t species = 0; species < patch->species.size(); ++species) {
      const Particles<D>& particles = patch->species[species];
      const double mass = problem_.physics.species[species].mass();
      const auto& u = particles.momentum;
      for (std::size_t i = 0; i < particles.size(); ++i) {
        const double square = u[0][i] * u[0][i] + u[1][i] * u[1][i] + u[2][i] * u[2][i];
        // Lorentz factor minus 1, without its cancellation.
        kinetic.add(mass * (square / (1 + std::sqrt(1 + square))));
        momentum_x.add(mass * u[0][i]);
      }
    }
  }
  ranks_.sum(counts);
  ranks_.sum(kinetic.parts());
  ranks_.sum(momentum_x.parts());
  const auto energies = solver_.energies();
  return {.particles = static_cast<std::uint64_t>(counts[0]),
          .absorbed = static_cast<std::uint64_t>(counts[1]),
          .checksum = static_cast<std::uint64_t>(counts[2]),
          .misplaced = static_cast<std::uint64_t>(counts[3]),
          .kinetic = kinetic.value(),
          .electric = energies.electric,
          .magnetic = energies.magnetic,
          .momentum_x = momentum_x.value()};
}

template class GridWay<2>;
template class GridWay<3>;

}  // namespace pic
