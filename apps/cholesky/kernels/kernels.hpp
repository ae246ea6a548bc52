// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "cholesky/layout.hpp"

namespace cholesky {

// Kernels on tiles, by BLAS and LAPACK. Triangular solves and LU are recursive, so that most of their work is matrix
// products: the solves of a BLAS are often two to three times slower. Threads: any, on different output tiles.

// Cholesky, on lower triangles; entries above the diagonal are neither read nor changed.

/// Factors a = L L^T in place. Returns 0, or the order (from 1) of the first leading minor that is not positive.
[[nodiscard]] std::size_t factor_symmetric(Tile a);
/// b = b L^-T, with L of `factor_symmetric`.
void solve_transposed(ConstTile l, Tile b);
/// c = c - a a^T, lower triangle.
void update_symmetric(ConstTile a, Tile c);
/// c = c - a b^T.
void update_transposed(ConstTile a, ConstTile b, Tile c);

// LU without pivoting: a tile holds L below its diagonal, and U on and above it. The diagonal of L is 1.

/// Factors a = L U in place. Returns 0, or the row (from 1) of the first pivot that is 0 or not finite.
[[nodiscard]] std::size_t factor_general(Tile a);
/// b = L^-1 b.
void solve_lower(ConstTile l, Tile b);
/// b = b U^-1.
void solve_upper(ConstTile u, Tile b);
/// c = c - a b.
void update(ConstTile a, ConstTile b, Tile c);

}  // namespace cholesky
