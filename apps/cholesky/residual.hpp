// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/plait.hpp"

#include "cholesky/layout.hpp"

namespace cholesky {

/// Which factors the tiles hold.
enum class Factors : std::uint8_t {
  symmetric,  ///< L, of A = L L^T.
  general,    ///< L and U, of A = L U, without pivoting.
};

/// Estimates how well the factors in the tiles of all ranks reproduce the matrix.
///
/// With random vectors x of +1 and -1, the mean of |(A - L L^T) x|^2 is the square of the Frobenius norm of A - L L^T
/// (Hutchinson, "A stochastic estimator of the trace of the influence matrix", 1990), at a cost of O(n^2). With eight
/// vectors a wrong number in any tile is detected, and the norm is nearly always accurate to a third. Collective.
class Residual {
 public:
  /// Borrows `layout`. Cost: memory for 24 numbers a row of the matrix.
  Residual(const Layout& layout, Factors factors, const plait::Group& group);

  /// Reads this rank's tiles of the matrix, before the factorisation.
  void see_matrix(std::span<const PlacedTile> tiles);
  /// Reads this rank's tiles of the factors. Returns |A - L L^T| / (|A| n eps) in Frobenius norms, the same on all
  /// ranks: about 0.01 to 1 for correct factors, NaN if the factors hold one. Throws: as the network.
  [[nodiscard]] double see_factors(std::span<const PlacedTile> tiles);

  /// A residual above this indicates an error in the program.
  static constexpr double accepted_max = 10;

 private:
  using Vectors = std::vector<double>;

  Vectors after_right_factor(std::span<const PlacedTile> tiles);
  void subtract_left_factor(std::span<const PlacedTile> tiles, const Vectors& right);

  const Layout& layout_;
  const Factors factors_;
  plait::Group group_;
  Vectors start_;     ///< Random vectors side by side, row after row.
  Vectors products_;  ///< This rank's share of A times them, and later of the difference.
  double norm_squared_ = 0;
};

}  // namespace cholesky
