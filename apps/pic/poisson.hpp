// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "pic/exact_sum.hpp"
#include "pic/physics.hpp"
#include "pic/ranks.hpp"
#include "pic/transfer.hpp"

namespace pic {

/// How Poisson's equation is solved.
enum class PoissonMethod : std::uint8_t {
  conjugate_gradients,
  fourier,  ///< On rank 0 by FFTW, where plait was built with it: see `has_fourier`.
};

/// Whether this build has FFTW.
[[nodiscard]] bool has_fourier() noexcept;

/// What a rank needs to solve Poisson's equation on its block: minus the Laplacian of the potential, by second
/// differences, is the charge density. The potential is 0 in conducting walls; when all axes are periodic, the mean of
/// the density is taken off, as a background that does not move would. Part p of `blocks` is rank p's.
template <int D>
class Poisson {
 public:
  Poisson(const Grid<D>& grid, const Division<D>& blocks, Ranks& ranks, PoissonMethod method);

  /// Sets `potential`, whose tile has one node more than the block's own on each side, on all of these; what it held
  /// before is the first guess. `density` has the own nodes. Solves until the residual is below `tolerance` times the
  /// density's norm (conjugate gradients; sums are exact, so that neither result nor iterations depend on the blocks).
  /// Returns the iterations. Collective.
  /// Throws: `plait::Error` when that does not come about, as with a density that is not a number.
  int solve(Tile<D, double>& potential, const Tile<D, double>& density, double tolerance);

 private:
  int by_gradients(Tile<D, double>& potential, double tolerance);
  void by_fourier(Tile<D, double>& potential);
  [[nodiscard]] bool is_wall(const Place<D>& node) const;
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
/// Solves on the whole grid: `values`, on the unknown nodes with x fastest, go from density to potential. Between walls
/// the unknown nodes are those inside. Expects: `has_fourier()`.
template <int D>
void solve_by_fourier(const Grid<D>& grid, std::vector<double>& values);
}  // namespace detail

}  // namespace pic
