// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "cholesky/layout.hpp"

namespace cholesky {

// The work on tiles, by BLAS and LAPACK. Triangular solves and the factorisation without pivoting are cut in halves
// until most of their work is matrix products: a BLAS is often two to three times slower in its own solves. Threads:
// any, on different output tiles.

// Cholesky, on lower triangles; what is above a diagonal is neither read nor changed.

/// a = L with L L^T the a before. Returns 0, or the order (from 1) of the first leading minor that is not positive.
[[nodiscard]] std::size_t factor_symmetric(Tile a);
/// b = b L^-T, with L of `factor_symmetric`.
void solve_transposed(ConstTile l, Tile b);
/// c = c - a a^T, lower triangle.
void update_symmetric(ConstTile a, Tile c);
/// c = c - a b^T.
void update_transposed(ConstTile a, ConstTile b, Tile c);

// LU without pivoting; a tile holds L below its diagonal, whose diagonal is 1, and U on and above.

/// a = L and U with L U the a before. Returns 0, or the row (from 1) of the first pivot that is 0 or no number.
[[nodiscard]] std::size_t factor_general(Tile a);
/// b = L^-1 b.
void solve_lower(ConstTile lu, Tile b);
/// b = b U^-1.
void solve_upper(ConstTile lu, Tile b);
/// c = c - a b.
void update(ConstTile a, ConstTile b, Tile c);

}  // namespace cholesky
