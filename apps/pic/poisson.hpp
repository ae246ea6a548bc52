// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "pic/exact_sum.hpp"
#include "pic/physics.hpp"
#include "pic/ranks.hpp"
#include "pic/transfer.hpp"

namespace pic {

/// Methods for Poisson's equation.
enum class PoissonMethod : std::uint8_t {
  conjugate_gradients,
  fourier,  ///< FFTW on rank 0, if plait was built with it: see `has_fourier`.
};

/// Whether this build has FFTW.
[[nodiscard]] bool has_fourier() noexcept;

/// Solves Poisson's equation on this rank's block: minus the Laplacian of the potential, by second differences, is the
/// charge density. The potential is 0 in conducting walls. When all axes are periodic, the mean of the density is
/// subtracted, as by a background that does not move. Part p of `blocks` is rank p's.
template <int D>
class Poisson {
 public:
  Poisson(const Grid<D>& grid, const Division<D>& blocks, Ranks& ranks, PoissonMethod method);

  /// Sets all of `potential`, whose tile has one guard node on each side; its old value is the first guess. `density`
  /// has the own nodes. Conjugate gradients iterate until the residual is below `tolerance` times the density's norm.
  /// Sums are exact, so that neither result nor iterations depend on the blocks. Returns the iterations. Collective.
  /// Throws: `plait::Error` when the method does not converge, such as for a NaN in the density.
  int solve(Tile<D, double>& potential, const Tile<D, double>& density, double tolerance);
  /// The mean of a density on the own nodes of all ranks where all axes are periodic, else 0. Collective.
  [[nodiscard]] double mean(const Tile<D, double>& density);

 private:
  int by_gradients(Tile<D, double>& potential, double tolerance);
  void by_fourier(Tile<D, double>& potential);
  [[nodiscard]] double dot(const Tile<D, double>& a, const Tile<D, double>& b);
  void apply(const Tile<D, double>& potential, Tile<D, double>& result) const;

  Grid<D> grid_;
  Division<D> blocks_;
  Ranks& ranks_;
  PoissonMethod method_;
  Box<D> own_;
  GuardExchange<D> fill_guards_;
  Tile<D, double> right_;  ///< The density, without its mean and without walls.
  Tile<D, double> residual_;
  Tile<D, double> direction_;  ///< With guards.
  Tile<D, double> image_;      ///< Of the direction.
};

namespace detail {
/// Solves on the whole grid: replaces the density in `values` by the potential, on the unknown nodes with x fastest.
/// Between walls the unknown nodes are those inside. Expects: `has_fourier()`.
template <int D>
void solve_by_fourier(const Grid<D>& grid, std::vector<double>& values);
}  // namespace detail

}  // namespace pic
