// SPDX-License-Identifier: Apache-2.0
#include "pic/problem.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "plait/base/error.hpp"

#include "pic/detail/deposit.hpp"
#include "pic/hash.hpp"
#include "pic/kernel_problem.hpp"

namespace pic {

namespace {

/// Ids of the kernel's particles: the cell they start in, and a number in it.
constexpr std::uint64_t kernel_cell_particles = 1U << 24U;
/// Emitted particles have ids from here on, above those of the first ones.
constexpr std::uint64_t first_emitted = std::uint64_t{1} << 48U;
/// Steps between sorts of the particles by cell.
constexpr std::uint64_t sort_steps = 20;
/// Distance in cells from which on a particle of the analytic problem is misplaced.
constexpr double misplaced_from = 1e-6;

void add_thermal(Vector3& momentum, double thermal, plait::Random& random) {
  for (double& component : momentum) {
    component += thermal > 0 ? thermal * random.normal() : 0;
  }
}

/// Puts the particles of one cell, which may be an image of a cell of the grid, into the patch if they are in it.
template <int D>
void fill_cell(const Problem<D>& problem, const Filling<D>& filling, const Place<D>& image, Patch<D>& patch) {
  const Grid<D>& grid = problem.physics.grid;
  Place<D> cell = image;
  for (int d = 0; d < D; ++d) {
    cell[d] = (cell[d] % grid.cells[d] + grid.cells[d]) % grid.cells[d];
  }
  const std::uint64_t number = grid.number(cell);
  std::uint64_t n = 0;
  for_each_place(Box<D>{{}, filling.per_cell}, [&](const Place<D>& sub) {
    Migrant<D> particle{.id = number * filling.count() + n++, .momentum = filling.drift, .species = filling.species};
    plait::Random random = random_of(problem.seed, particle.id, filling.species);
    for (int d = 0; d < D; ++d) {
      const double in_cell = filling.is_random ? random.unit() : (sub[d] + 0.5) / filling.per_cell[d];
      particle.position[d] = image[d] + in_cell;
    }
    if (filling.amplitude != 0) {
      // Of the place in the grid, so that all images are displaced alike.
      const double x = particle.position[0] - image[0] + cell[0];
      const double k = 2 * std::numbers::pi * filling.waves / grid.cells[0];
      particle.position[0] += filling.amplitude * std::sin(k * x);
    }
    add_thermal(particle.momentum, filling.thermal, random);
    bool is_inside = true;
    for (int d = 0; d < D; ++d) {
      is_inside &= particle.position[d] >= patch.cells.low[d] && particle.position[d] < patch.cells.high[d];
    }
    if (is_inside) {
      patch.species[filling.species].add(particle);
    }
  });
}

template <int D>
void fill(const Problem<D>& problem, const Filling<D>& filling, Patch<D>& patch) {
  const auto reach = static_cast<std::int32_t>(std::ceil(std::abs(filling.amplitude)));
  Box<D> cells = patch.cells;
  cells.low[0] -= reach;
  cells.high[0] += reach;
  if (!problem.physics.grid.is_periodic(0)) {
    cells = cells.common(problem.physics.grid.cell_box());
  }
  for_each_place(cells, [&](const Place<D>& image) { fill_cell(problem, filling, image, patch); });
}

void fill_kernel_cell(const Problem<2>& problem, const Place<2>& cell, Patch<2>& patch) {
  const KernelProblem& kernel = *problem.kernel;
  const Place<2>& cells = problem.physics.grid.cells;
  const std::uint64_t number = problem.physics.grid.number(cell);
  const double expected = kernel.expected(cell, cells);
  plait::Random random = random_of(problem.seed, number);
  const double whole = std::floor(expected);
  const std::uint64_t count = static_cast<std::uint64_t>(whole) + (random.happens(expected - whole) ? 1U : 0U);
  if (count >= kernel_cell_particles) {
    throw plait::Error{plait::ErrorCode::bad_argument,
                       "more than 2^24 particles in one cell: use fewer --particles, or more --cells"};
  }
  for (std::uint64_t n = 0; n < count; ++n) {
    patch.species[column_charge(cell[0]) > 0 ? 0 : 1].add({.id = number * kernel_cell_particles + n,
                                                           .position = {cell[0] + 0.5, cell[1] + 0.5},
                                                           .momentum = {0, static_cast<double>(kernel.m), 0}});
  }
}

template <int D>
void emit(const Problem<D>& problem, Patch<D>& patch, std::uint64_t step) {
  const Plate<D>& plate = *problem.plate;
  const double charge = problem.physics.species[plate.species].charge / problem.physics.quantum;
  for_each_place(patch.cells.common(plate.cells), [&](const Place<D>& cell) {
    const std::uint64_t number = problem.physics.grid.number(cell);
    for (std::uint64_t n = 0; n < plate.per_step; ++n) {
      const std::uint64_t cells = static_cast<std::uint64_t>(problem.physics.grid.cell_box().count());
      Migrant<D> particle{.id = first_emitted + (step * cells + number) * plate.per_step + n,
                          .momentum = plate.drift,
                          .species = plate.species};
      plait::Random random = random_of(problem.seed, particle.id);
      for (int d = 1; d < D; ++d) {
        particle.position[d] = cell[d] + random.unit();
      }
      add_thermal(particle.momentum, plate.thermal, random);
      particle.momentum[0] = std::abs(particle.momentum[0]);
      patch.species[plate.species].add(particle);
      if (problem.physics.solve == Solve::electromagnetic && problem.physics.order == 2) {
        // A quadratic shape reaches half a cell out of the wall: so much came through it.
        detail::Move<D> move{.from = particle.position, .to = particle.position, .charge = charge};
        move.from[0] = -0.5;
        detail::deposit_current<2>(patch.current, move);
      }
    }
  });
}

double periodic_distance(double a, double b, double length) {
  const double distance = std::abs(a - b);
  return std::min(distance, length - distance);
}

}  // namespace

double KernelProblem::expected(const Place<2>& cell, const Place<2>& cells) const {
  const double columns = cells[0];
  const double each = static_cast<double>(particles) / cells[1];  // of a row
  const double x = cell[0];
  switch (distribution) {
    case Distribution::geometric:
      return rho == 1 ? each / columns : each * (1 - rho) / (1 - std::pow(rho, columns)) * std::pow(rho, x);
    case Distribution::sinusoidal: {
      const double wave = std::cos(std::numbers::pi * x / columns);
      return 2 * wave * wave * each / columns;
    }
    case Distribution::linear:
      return each * (beta - alpha * x / columns) / (beta * columns - alpha * 0.5 * (columns - 1));
    case Distribution::patch:
      return patch.contains(cell) ? static_cast<double>(particles) / static_cast<double>(patch.count()) : 0;
  }
  return 0;
}

template <int D>
void Problem<D>::load(Patch<D>& patch) const {
  if (starts_empty) {
    return;
  }
  for (const Filling<D>& filling : fillings) {
    fill(*this, filling, patch);
  }
  if constexpr (D == 2) {
    if (kernel) {
      for_each_place(patch.cells, [&](const Place<2>& cell) { fill_kernel_cell(*this, cell, patch); });
    }
  }
}

template <int D>
void Problem<D>::move_particles(Patch<D>& patch, std::uint64_t step, std::vector<Migrant<D>>& leavers) const {
  patch.current.fill({});
  if (plate) {
    emit(*this, patch, step);
  }
  try {
    patch.advance(physics, leavers);
  } catch (const plait::Error& error) {
    throw plait::Error{error.code(), fmt::format("in step {}, {}", step + 1, error.what())};
  }
  if ((step + 1) % sort_steps == 0) {
    patch.sort_by_cell();
  }
}

template <int D>
std::uint64_t Problem<D>::count_misplaced(const Patch<D>& patch, std::uint64_t steps) const {
  if (!kernel) {
    return 0;
  }
  std::uint64_t misplaced = 0;
  const double lx = physics.grid.cells[0];
  const double ly = physics.grid.cells[1];
  const auto moved = static_cast<double>(steps);
  for (const Particles<D>& particles : patch.species) {
    for (std::size_t i = 0; i < particles.size(); ++i) {
      const std::uint64_t number = particles.id[i] / kernel_cell_particles;
      const auto columns = static_cast<std::uint64_t>(physics.grid.cells[0]);
      const double x = std::fmod(static_cast<double>(number % columns) + 0.5 + (2 * kernel->k + 1) * moved, lx);
      const double y = std::fmod(static_cast<double>(number / columns) + 0.5 + kernel->m * moved, ly);
      const double off = std::max(periodic_distance(x, particles.position[0][i], lx),
                                  periodic_distance(y < 0 ? y + ly : y, particles.position[1][i], ly));
      misplaced += off <= misplaced_from ? 0 : 1;
    }
  }
  return misplaced;
}

template struct Problem<2>;
template struct Problem<3>;

}  // namespace pic
