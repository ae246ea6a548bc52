// SPDX-License-Identifier: Apache-2.0
#include "pic/solver.hpp"

#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "plait/base/error.hpp"

#include "pic/hash.hpp"
#include "pic/maxwell.hpp"

namespace pic {

template <int D>
Solver<D>::Solver(const Physics<D>& physics, const Division<D>& blocks, Ranks& ranks, PoissonOptions options)
    : physics_{physics},
      ranks_{ranks},
      options_{options},
      own_{physics.grid.nodes(blocks.box(ranks.self()))},
      fill_guards_{physics.grid, blocks, ranks.self(), 1},
      poisson_{physics.grid, blocks, ranks, options.method},
      electric_{own_.grown(1, 1)},
      magnetic_{own_.grown(1, 1)},
      potential_{own_.grown(1, 1)},
      density_{own_},
      current_{own_},
      charge_{own_},
      fields_{own_} {}

template <int D>
void Solver<D>::clear() {
  current_.fill({});
  charge_.fill(0);
}

template <int D>
void Solver<D>::make_density() {
  const double factor = physics_.quantum / physics_.grid.cell_volume();
  for (std::size_t i = 0; i < charge_.size(); ++i) {
    density_.data()[i] = static_cast<double>(charge_.data()[i]) * factor;
  }
}

template <int D>
void Solver<D>::solve_poisson(double tolerance) {
  make_density();
  poisson_.solve(potential_, density_, tolerance);
  electric_of_potential(electric_, potential_, physics_.grid);
}

template <int D>
void Solver<D>::start() {
  if (physics_.solve != Solve::nothing) {
    solve_poisson(1e-13);
    apply_walls(electric_, magnetic_, physics_.grid);
    fill_guards_(electric_, ranks_);
  }
  publish(0);
}

template <int D>
void Solver<D>::step(std::uint64_t step) {
  const double half = 0.5 * physics_.time_step;
  switch (physics_.solve) {
    case Solve::electromagnetic:
      // The magnetic field is advanced one node below the own ones too, so that one exchange suffices.
      advance_magnetic(magnetic_, electric_, physics_.grid, half);
      apply_walls(electric_, magnetic_, physics_.grid);
      advance_electric(electric_, magnetic_, current_, physics_);
      apply_walls(electric_, magnetic_, physics_.grid);
      fill_guards_(electric_, ranks_);
      advance_magnetic(magnetic_, electric_, physics_.grid, half);
      apply_walls(electric_, magnetic_, physics_.grid);
      break;
    case Solve::electrostatic:
      solve_poisson(options_.tolerance);
      break;
    case Solve::nothing:
      return;
  }
  publish(step);
}

template <int D>
void Solver<D>::go_on(std::uint64_t step) {
  fill_guards_(electric_, ranks_);
  fill_guards_(magnetic_, ranks_);
  fill_guards_(potential_, ranks_);
  apply_walls(electric_, magnetic_, physics_.grid);
  publish(step);
}

template <int D>
void Solver<D>::publish(std::uint64_t step) {
  average_to_nodes(fields_, electric_, magnetic_, physics_.grid);
  double zeros = 0;
  const double* const values = fields_.data()->data();
  for (std::size_t i = 0; i < fields_.size() * 6; ++i) {
    zeros += 0 * values[i];
  }
  if (zeros == 0) {
    return;
  }
  for_each_place(own_, [&](const Place<D>& node) {
    for (std::size_t c = 0; c < 6; ++c) {
      if (!std::isfinite(fields_[node][c])) {
        throw plait::Error{
            plait::ErrorCode::bad_input,
            fmt::format("the {} field along {} is {} at step {} in cell ({}), on rank {}: is the time step too long, "
                        "or an initial value wrong?",
                        c < 3 ? "electric" : "magnetic",
                        "xyz"[c % 3],
                        fields_[node][c],
                        step,
                        fmt::join(node, ", "),
                        ranks_.self())};
      }
    }
  });
}

template <int D>
typename Solver<D>::Energies Solver<D>::energies() {
  std::array<ExactSum, 2> sums;
  for_each_place(own_, [&](const Place<D>& node) {
    for (std::size_t c = 0; c < 3; ++c) {
      sums[0].add(electric_[node][c] * electric_[node][c]);
      sums[1].add(magnetic_[node][c] * magnetic_[node][c]);
    }
  });
  ranks_.sum(sums[0].parts());
  ranks_.sum(sums[1].parts());
  const double half_cell = 0.5 * physics_.grid.cell_volume();
  return {half_cell * sums[0].value(), half_cell * sums[1].value()};
}

template <int D>
double Solver<D>::gauss_error() {
  make_density();
  const double mean = poisson_.mean(density_);
  double error = 0;
  double largest = 0;
  for_each_place(own_, [&](const Place<D>& node) {
    if (physics_.grid.is_wall(node)) {
      return;  // charges in a wall are free to move
    }
    error = std::max(error, std::abs(divergence(electric_, node, physics_.grid) - (density_[node] - mean)));
    largest = std::max(largest, std::abs(density_[node]));
  });
  error = ranks_.max(error);
  largest = ranks_.max(largest);
  return largest > 0 ? error / largest : error;
}

template <int D>
std::uint64_t Solver<D>::checksum() const {
  std::uint64_t sum = 0;
  const Tile<D, char> numbering{Box<D>{{}, physics_.grid.node_box().high}};
  for_each_place(own_, [&](const Place<D>& node) {
    std::uint64_t hash = mixed(static_cast<std::uint64_t>(numbering.index(node)));
    for (const Tile<D, Vector3>* field : {&electric_, &magnetic_}) {
      for (const double value : (*field)[node]) {
        hash = mixed(hash ^ std::bit_cast<std::uint64_t>(value + 0.0));  // -0 is 0
      }
    }
    sum += hash;
  });
  return sum;
}

template class Solver<2>;
template class Solver<3>;

}  // namespace pic
