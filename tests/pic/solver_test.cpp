// SPDX-License-Identifier: Apache-2.0
#include "pic/solver.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/base/random.hpp"

#include "pic/maxwell.hpp"

namespace solver_test {
namespace {

using namespace pic;

template <int D>
Grid<D> grid_of(const Place<D>& cells, int walls) {
  Grid<D> grid{.cells = cells};
  for (int d = 0; d < D; ++d) {
    const bool is_wall = d < walls;
    grid.spacing[d] = 0.5 + 0.1 * d;
    grid.fields[d] = is_wall ? FieldBorder::conducting : FieldBorder::periodic;
    grid.particles[d].fill(is_wall ? ParticleBorder::absorbing : ParticleBorder::periodic);
  }
  return grid;
}

/// The density of one wave of the grid, which is an eigenvector of the discrete Laplacian, and how far the solution is
/// from the eigenvalue's.
template <int D>
double error_of_a_wave(const Grid<D>& grid, PoissonMethod method) {
  Place<D> whole{};
  whole.fill(1);
  OneRank one;
  const Division<D> blocks{grid.cells, whole};
  Poisson<D> poisson{grid, blocks, one, method};
  Tile<D, double> density{grid.node_box()};
  double eigenvalue = 0;
  const auto angle = [&](int d) { return (grid.is_periodic(d) ? 2 : 1) * std::numbers::pi * (d + 1) / grid.cells[d]; };
  for (int d = 0; d < D; ++d) {
    eigenvalue += std::pow(2 * std::sin(angle(d) / 2) / grid.spacing[d], 2);
  }
  for_each_place(grid.node_box(), [&](const Place<D>& node) {
    double value = 1;
    for (int d = 0; d < D; ++d) {
      value *= std::sin(angle(d) * node[d]);
    }
    density[node] = value;
  });
  Tile<D, double> potential{grid.node_box().grown(1, 1)};
  poisson.solve(potential, density, 1e-13);
  double error = 0;
  for_each_place(grid.node_box(), [&](const Place<D>& node) {
    error = std::max(error, std::abs(potential[node] * eigenvalue - density[node]));
  });
  return error;
}

TEST(Poisson, solves_for_waves_exactly) {
  for (const PoissonMethod method : {PoissonMethod::conjugate_gradients, PoissonMethod::fourier}) {
    if (method == PoissonMethod::fourier && !has_fourier()) {
      EXPECT_THROW((void)error_of_a_wave(grid_of<2>({4, 4}, 0), method), plait::Error);
      continue;
    }
    for (int walls = 0; walls <= 2; ++walls) {
      EXPECT_LT(error_of_a_wave(grid_of<2>({12, 17}, walls), method), 1e-10) << walls << " axes with walls";
    }
    EXPECT_LT(error_of_a_wave(grid_of<3>({6, 7, 9}, 1), method), 1e-10);
    EXPECT_LT(error_of_a_wave(grid_of<3>({6, 7, 8}, 3), method), 1e-10);
  }
}

/// The potentials that both methods find for random charges, as the largest difference over the largest value.
template <int D>
double disagreement(const Grid<D>& grid) {
  Place<D> whole{};
  whole.fill(1);
  plait::Random random{5};
  Tile<D, double> density{grid.node_box()};
  for_each_place(grid.node_box(), [&](const Place<D>& node) { density[node] = random.unit() - 0.5; });
  const auto potential = [&](PoissonMethod method) {
    OneRank one;
    Poisson<D> poisson{grid, {grid.cells, whole}, one, method};
    Tile<D, double> result{grid.node_box().grown(1, 1)};
    poisson.solve(result, density, 1e-13);
    return result;
  };
  const Tile<D, double> one = potential(PoissonMethod::conjugate_gradients);
  const Tile<D, double> other = potential(PoissonMethod::fourier);
  // Of a periodic box a constant is free.
  const double shift = grid.is_periodic(0) ? one[grid.node_box().low] - other[grid.node_box().low] : 0;
  double difference = 0;
  double largest = 0;
  for_each_place(grid.node_box(), [&](const Place<D>& node) {
    difference = std::max(difference, std::abs(one[node] - other[node] - shift));
    largest = std::max(largest, std::abs(one[node]));
  });
  EXPECT_GT(largest, 0.01);
  return difference / largest;
}

TEST(Poisson, gives_the_same_by_gradients_and_by_fourier) {
  if (!has_fourier()) {
    GTEST_SKIP() << "built without FFTW";
  }
  for (int walls = 0; walls <= 2; ++walls) {
    EXPECT_LT(disagreement(grid_of<2>({12, 17}, walls)), 1e-10) << walls << " axes with walls";
    EXPECT_LT(disagreement(grid_of<3>({6, 9, 8}, walls)), 1e-10) << walls << " axes with walls";
  }
}

TEST(Poisson, refuses_charges_that_are_no_numbers) {
  const Grid<2> grid = grid_of<2>({4, 4}, 0);
  OneRank one;
  Poisson<2> poisson{grid, {grid.cells, {1, 1}}, one, PoissonMethod::conjugate_gradients};
  Tile<2, double> density{grid.node_box()};
  density[{1, 2}] = std::numeric_limits<double>::infinity();
  Tile<2, double> potential{grid.node_box().grown(1, 1)};
  EXPECT_THROW(poisson.solve(potential, density, 1e-8), plait::Error);
}

template <int D>
Physics<D> laws(const Grid<D>& grid) {
  Physics<D> physics{.grid = grid};
  physics.species = {{"electrons", -1, -1}};
  physics.time_step = 0.5 * physics.courant_limit();
  physics.choose_quantum(1);
  return physics;
}

/// A wave of E along y and B along z that travels along x: returns how much its energy changes and how far its phase is
/// from where light would be, after about one box length.
template <int D>
void expect_light_travels() {
  Place<D> cells{};
  cells.fill(3);
  cells[0] = 40;
  const Physics<D> physics = laws<D>(grid_of<D>(cells, 0));
  Place<D> whole{};
  whole.fill(1);
  OneRank one;
  Solver<D> solver{physics, {cells, whole}, one};
  const double k = 2 * std::numbers::pi / (cells[0] * physics.grid.spacing[0]);
  const double h = physics.grid.spacing[0];
  for_each_place(solver.electric().box(), [&](const Place<D>& node) {
    solver.electric()[node][1] = std::cos(k * node[0] * h);
    solver.magnetic()[node][2] = std::cos(k * (node[0] + 0.5) * h);
  });
  solver.publish(0);
  const auto before = solver.energies();
  const auto steps = static_cast<std::uint64_t>(std::round(cells[0] * h / physics.time_step));
  for (std::uint64_t i = 1; i <= steps; ++i) {
    solver.step(i);
  }
  const auto after = solver.energies();
  EXPECT_NEAR(after.electric + after.magnetic, before.electric + before.magnetic, 1e-3 * before.electric);
  Place<D> at{};
  at[0] = 10;
  const double time = static_cast<double>(steps) * physics.time_step;
  EXPECT_NEAR(solver.electric()[at][1], std::cos(k * (10 * h - time)), 0.03);
}

TEST(Maxwell, light_travels_at_its_speed) {
  expect_light_travels<2>();
  expect_light_travels<3>();
}

TEST(Maxwell, a_wave_between_walls_keeps_its_energy) {
  const Physics<2> physics = laws<2>(grid_of<2>({20, 20}, 2));
  OneRank one;
  Solver<2> solver{physics, {{20, 20}, {1, 1}}, one};
  for_each_place(solver.electric().box(), [&](const Place<2>& node) {
    solver.electric()[node][2] = std::sin(std::numbers::pi * node[0] / 20) * std::sin(std::numbers::pi * node[1] / 20);
  });
  apply_walls(solver.electric(), solver.magnetic(), physics.grid);
  solver.publish(0);
  const double before = solver.energies().electric;
  double least = before;
  double total = before;
  for (std::uint64_t i = 1; i <= 300; ++i) {
    solver.step(i);
    const auto now = solver.energies();
    least = std::min(least, now.electric);
    total = std::max(total, now.electric + now.magnetic);
    ASSERT_NEAR(now.electric + now.magnetic, before, 0.02 * before);
  }
  EXPECT_LT(least, 0.05 * before) << "it oscillates";
}

TEST(Solver, names_the_field_step_and_cell_that_is_not_a_number) {
  const Physics<2> physics = laws<2>(grid_of<2>({8, 8}, 0));
  OneRank one;
  Solver<2> solver{physics, {{8, 8}, {1, 1}}, one};
  solver.electric()[{2, 5}][2] = std::nan("");
  try {
    solver.publish(17);
    FAIL() << "no error";
  } catch (const plait::Error& error) {
    EXPECT_NE(std::string{error.what()}.find("electric field along z is nan at step 17 in cell (2, 5)"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace solver_test
