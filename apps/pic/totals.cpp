// SPDX-License-Identifier: Apache-2.0
#include "pic/totals.hpp"

#include <cmath>

namespace pic {

template <int D>
void PartialTotals<D>::add(const Problem<D>& problem, const Patch<D>& patch, std::uint64_t steps) {
  counts_.particles += patch.particle_count();
  counts_.absorbed += patch.absorbed;
  counts_.checksum += checksum(patch);
  counts_.misplaced += count_misplaced(problem, patch, steps);
  for (std::size_t species = 0; species < patch.species.size(); ++species) {
    const Particles<D>& particles = patch.species[species];
    const double mass = problem.physics.species[species].mass();
    for (std::size_t i = 0; i < particles.size(); ++i) {
      double square = 0;
      for (const auto& u : particles.momentum) {
        square += u[i] * u[i];
      }
      // Lorentz factor minus 1, without its cancellation.
      kinetic_.add(mass * (square / (1 + std::sqrt(1 + square))));
      momentum_x_.add(mass * particles.momentum[0][i]);
    }
  }
}

template <int D>
Totals PartialTotals<D>::sum(Solver<D>& solver, Ranks& ranks) {
  std::array<std::int64_t, 4> counts{
      static_cast<std::int64_t>(counts_.particles),
      static_cast<std::int64_t>(counts_.absorbed),
      static_cast<std::int64_t>(counts_.checksum + solver.checksum()),
      static_cast<std::int64_t>(counts_.misplaced),
  };
  ranks.sum(counts);
  ranks.sum(kinetic_.parts());
  ranks.sum(momentum_x_.parts());
  const auto energies = solver.energies();
  return {.particles = static_cast<std::uint64_t>(counts[0]),
          .absorbed = static_cast<std::uint64_t>(counts[1]),
          .checksum = static_cast<std::uint64_t>(counts[2]),
          .misplaced = static_cast<std::uint64_t>(counts[3]),
          .kinetic = kinetic_.value(),
          .electric = energies.electric,
          .magnetic = energies.magnetic,
          .momentum_x = momentum_x_.value()};
}

template class PartialTotals<2>;
template class PartialTotals<3>;

}  // namespace pic
