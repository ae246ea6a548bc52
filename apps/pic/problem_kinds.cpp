// SPDX-License-Identifier: Apache-2.0
// The problems by name: one function each, and a table.
#include <array>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "pic/kernel_problem.hpp"
#include "pic/problem.hpp"
#include "support/choice.hpp"

namespace pic {

namespace {

/// Makes the common part of all problems: a periodic grid and the solver.
template <int D>
Problem<D> begin(const ProblemOptions& options, Solve solve, double spacing) {
  require(options.cells.size() == D, fmt::format("--cells needs {} numbers here, not {}", D, options.cells.size()));
  require(options.thermal == -1 || (options.thermal >= 0 && options.thermal <= 1e3),
          fmt::format("--thermal {}: give a momentum from 0 to 1000 m c", options.thermal));
  require(options.particles_per_cell >= 1 && options.particles_per_cell <= 1U << 20U,
          "--particles-per-cell must be from 1 to 2^20");
  Problem<D> problem{.name = options.name, .seed = options.seed};
  Physics<D>& physics = problem.physics;
  std::copy(options.cells.begin(), options.cells.end(), physics.grid.cells.begin());
  physics.grid.spacing.fill(spacing);
  physics.grid.particles.fill({ParticleBorder::periodic, ParticleBorder::periodic});
  physics.order = options.order;
  physics.solve = options.solve.value_or(solve);
  return problem;
}

/// Particles along each axis of a cell, as near to a cube as their number allows.
template <int D>
Place<D> spread(std::uint32_t per_cell) {
  Place<D> most{};
  most.fill(1 << 20);
  return best_parts<D>(most, static_cast<std::int32_t>(per_cell));
}

template <int D>
std::uint64_t cell_count(const Problem<D>& problem) {
  return static_cast<std::uint64_t>(problem.physics.grid.cell_box().count());
}

/// Sets the time step and the quantum, and checks all.
template <int D>
Problem<D> finish(Problem<D> problem, const ProblemOptions& options) {
  Physics<D>& physics = problem.physics;
  physics.grid.check();
  if (options.time_step != 0) {
    physics.time_step = options.time_step;
  } else if (physics.time_step == 0) {
    physics.time_step = physics.solve == Solve::electromagnetic ? 0.95 * physics.courant_limit() : 0.1;
  }
  std::uint64_t particles = problem.kernel ? 2 * problem.kernel->particles + cell_count(problem) : 0;
  for (const Filling<D>& filling : problem.fillings) {
    particles += filling.count() * cell_count(problem);
  }
  if (problem.plate) {
    particles += static_cast<std::uint64_t>(problem.plate->cells.count()) * problem.plate->per_step * options.steps;
  }
  physics.choose_quantum(particles);
  physics.check();
  return problem;
}

/// Electrons of a density in units of the reference density, `per_cell` macroparticles in a cell.
template <int D>
Species electrons(const char* name, const Grid<D>& grid, double density, std::uint64_t per_cell) {
  return {name, -density * grid.cell_volume() / static_cast<double>(per_cell), -1};
}

template <int D>
Problem<D> make_uniform(const ProblemOptions& options) {
  Problem<D> problem = begin<D>(options, Solve::electromagnetic, 0.1);
  problem.physics.species = {electrons("electrons", problem.physics.grid, 1, options.particles_per_cell)};
  problem.fillings = {{.per_cell = spread<D>(options.particles_per_cell),
                       .is_random = true,
                       .thermal = options.thermal >= 0 ? options.thermal : 0.1}};
  return finish(std::move(problem), options);
}

template <int D>
Problem<D> make_langmuir(const ProblemOptions& options) {
  Problem<D> problem = begin<D>(options, Solve::electrostatic, 0.1);
  problem.physics.species = {electrons("electrons", problem.physics.grid, 1, options.particles_per_cell)};
  problem.fillings = {{.per_cell = spread<D>(options.particles_per_cell),
                       .thermal = std::max(options.thermal, 0.0),
                       .amplitude = 1e-3 * options.cells[0] / (2 * std::numbers::pi)}};
  return finish(std::move(problem), options);
}

/// Two cold streams; the box holds one wave of the fastest growth, k v = sqrt(3 / 8).
template <int D>
Problem<D> make_two_stream(const ProblemOptions& options) {
  const double speed = 0.05;
  const double length = 2 * std::numbers::pi * speed / std::sqrt(3.0 / 8);
  const double cells = options.cells.empty() ? 1 : options.cells[0];
  Problem<D> problem = begin<D>(options, Solve::electrostatic, length / cells);
  const std::uint32_t per_cell = options.particles_per_cell;
  require(per_cell % 2 == 0, "--particles-per-cell must be even for two streams");
  problem.physics.species = {electrons("right", problem.physics.grid, 0.5, per_cell / 2),
                             electrons("left", problem.physics.grid, 0.5, per_cell / 2)};
  for (std::uint32_t species = 0; species < 2; ++species) {
    problem.fillings.push_back({.species = species,
                                .per_cell = spread<D>(per_cell / 2),
                                .drift = {(species == 0 ? speed : -speed) / std::sqrt(1 - speed * speed), 0, 0},
                                .thermal = std::max(options.thermal, 0.0),
                                .amplitude = 1e-4 * cells / (2 * std::numbers::pi)});
  }
  return finish(std::move(problem), options);
}

/// Fast electrons from a plate in the low wall of x, into a thin plasma between absorbing walls.
template <int D>
Problem<D> make_plate(const ProblemOptions& options) {
  Problem<D> problem = begin<D>(options, Solve::electromagnetic, 0.1);
  Grid<D>& grid = problem.physics.grid;
  grid.fields[0] = FieldBorder::conducting;
  grid.particles[0] = {ParticleBorder::absorbing, ParticleBorder::absorbing};
  const std::uint32_t per_step = options.particles_per_cell;
  const double drift = 0.5;
  problem.plate = Plate<D>{.species = 0,
                           .cells = grid.cell_box(),
                           .per_step = per_step,
                           .drift = {drift, 0, 0},
                           .thermal = options.thermal >= 0 ? options.thermal : 0.05};
  problem.plate->cells.high[0] = 1;
  require(options.plate[0] >= 0 && options.plate[0] < options.plate[1] && options.plate[1] <= 1,
          "--plate needs two parts of the wall between 0 and 1, the first below the second");
  for (int d = 1; d < D; ++d) {
    problem.plate->cells.low[d] = static_cast<std::int32_t>(std::floor(options.plate[0] * grid.cells[d]));
    problem.plate->cells.high[d] = static_cast<std::int32_t>(std::ceil(options.plate[1] * grid.cells[d]));
  }
  // The approximate number of emitted electrons in a cell next to the plate.
  const double step = problem.physics.solve == Solve::electromagnetic ? 0.95 * problem.physics.courant_limit() : 0.1;
  const double speed = drift / std::sqrt(1 + drift * drift);
  const double in_a_cell = per_step * grid.spacing[0] / (speed * step);
  problem.physics.species = {
      electrons("emitted", grid, 0.02, static_cast<std::uint64_t>(std::max(1.0, std::round(in_a_cell)))),
      electrons("thin", grid, 0.002, 2),
      {"ions", 0.002 * grid.cell_volume() / 2, 1.0 / 1836}};
  for (std::uint32_t species = 1; species < 3; ++species) {
    problem.fillings.push_back(
        {.species = species, .per_cell = spread<D>(2), .is_random = true, .thermal = species == 1 ? 0.05 : 0});
  }
  return finish(std::move(problem), options);
}

/// The most cells that a particle of the kernel's problem may cross in a step, so that places are exact.
constexpr std::int32_t crossed_max = 1 << 20;

template <int D>
Problem<D> make_kernel(const ProblemOptions& options) {
  if constexpr (D == 3) {
    require(false, "the Parallel Research Kernels' problem has two dimensions: give --cells two numbers");
  }
  Problem<D> problem = begin<D>(options, Solve::nothing, 1);
  Physics<D>& physics = problem.physics;
  physics.solve = Solve::nothing;
  physics.forces = Forces::fixed_charges;
  physics.time_step = 1;
  problem.kernel = options.kernel;
  KernelProblem& kernel = *problem.kernel;
  require(physics.grid.cells[0] % 2 == 0, "the kernel's problem needs an even number of cells along x");
  require(kernel.particles > 0, "the kernel's problem needs --particles");
  require(options.solve.value_or(Solve::nothing) == Solve::nothing,
          "the kernel's problem has fixed charges and no fields: leave out --solver");
  require(kernel.k >= 0 && kernel.k <= crossed_max, fmt::format("--kernel-k must be from 0 to {}", crossed_max));
  require(std::abs(static_cast<double>(kernel.m)) <= crossed_max,
          fmt::format("--kernel-m must be from -{0} to {0}", crossed_max));
  require(kernel.rho > 0 && std::isfinite(std::pow(kernel.rho, physics.grid.cells[0])),
          "--rho must be positive, and not so large that its power of the columns overflows");
  require(kernel.distribution != KernelProblem::Distribution::linear ||
              (kernel.beta >= 0 && kernel.beta >= kernel.alpha && kernel.beta + kernel.alpha != 0),
          "--linear ALPHA BETA must leave no column with fewer than 0 particles: BETA at least ALPHA and 0");
  if (kernel.distribution == KernelProblem::Distribution::patch) {
    const Box<2> grid{{}, {options.cells[0], options.cells[1]}};
    require(!kernel.patch.is_empty() && kernel.patch.common(grid) == kernel.patch,
            "--patch X0 X1 Y0 Y1 must be cells of the grid");
  }
  const double charge = (2 * kernel.k + 1) * crossing_charge();
  physics.species = {{"right of even columns", charge, charge}, {"right of odd columns", -charge, -charge}};
  return finish(std::move(problem), options);
}

constexpr std::array<ProblemKind, 5> kinds{{
    {"uniform",
     "thermal electrons everywhere, on a background that does not move: balanced",
     &make_uniform<2>,
     &make_uniform<3>},
    {"langmuir",
     "a plasma wave: electrons displaced by a sine oscillate at the plasma frequency",
     &make_langmuir<2>,
     &make_langmuir<3>},
    {"two-stream",
     "two cold streams through each other: a wave grows by exp(t / sqrt 8) until it traps them",
     &make_two_stream<2>,
     &make_two_stream<3>},
    {"plate",
     "electrons emitted from a part of the low wall of x into a thin plasma: unbalanced",
     &make_plate<2>,
     &make_plate<3>},
    {"kernel",
     "the Parallel Research Kernels' particles, whose final places are known exactly",
     &make_kernel<2>,
     &make_kernel<3>},
}};

}  // namespace

std::span<const ProblemKind> problem_kinds() noexcept {
  return kinds;
}

template <int D>
Problem<D> make_problem(const ProblemOptions& options) {
  const ProblemKind& kind = app::find_named("--problem", options.name, kinds);
  if constexpr (D == 2) {
    return kind.make_2(options);
  } else {
    return kind.make_3(options);
  }
}

template Problem<2> make_problem<2>(const ProblemOptions&);
template Problem<3> make_problem<3>(const ProblemOptions&);

}  // namespace pic
