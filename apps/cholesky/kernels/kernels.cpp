// SPDX-License-Identifier: Apache-2.0
#include "cholesky/kernels/kernels.hpp"

#include <cblas.h>
#include <cmath>
#include <lapacke.h>

namespace cholesky {

namespace {

/// Up to this size BLAS solves a triangle whole.
constexpr std::size_t solved_whole_max = 64;
/// Up to this size LU factors column by column.
constexpr std::size_t factored_whole_max = 32;

int as_int(std::size_t value) {
  return static_cast<int>(value);
}

/// Where a triangle of `size` is split in two: multiples of 64 suit the kernels of a BLAS.
std::size_t half_of(std::size_t size) {
  const std::size_t half = size / 2;
  return half >= solved_whole_max ? half / solved_whole_max * solved_whole_max : half;
}

/// c = c - a b, or c - a b^T.
void subtract_product(ConstTile a, ConstTile b, Tile c, CBLAS_TRANSPOSE form_of_b) {
  cblas_dgemm(CblasColMajor,
              CblasNoTrans,
              form_of_b,
              as_int(c.rows),
              as_int(c.columns),
              as_int(a.columns),
              -1,
              a.data,
              as_int(a.stride),
              b.data,
              as_int(b.stride),
              1,
              c.data,
              as_int(c.stride));
}

/// The shape of a triangle, and its side in a product.
struct Triangle {
  CBLAS_SIDE side;
  CBLAS_UPLO shape;
  CBLAS_TRANSPOSE transposed;
  CBLAS_DIAG diagonal;
};

void solve_whole(const Triangle& triangle, ConstTile t, Tile b) {
  cblas_dtrsm(CblasColMajor,
              triangle.side,
              triangle.shape,
              triangle.transposed,
              triangle.diagonal,
              as_int(b.rows),
              as_int(b.columns),
              1,
              t.data,
              as_int(t.stride),
              b.data,
              as_int(b.stride));
}

/// LU, column by column. Returns as `factor_general`.
std::size_t factor_columns(Tile a) {
  for (std::size_t k = 0; k < a.rows; ++k) {
    double* const column = a.data + k * a.stride;
    const double pivot = column[k];
    if (pivot == 0 || !std::isfinite(pivot)) {
      return k + 1;
    }
    for (std::size_t i = k + 1; i < a.rows; ++i) {
      column[i] /= pivot;
    }
    for (std::size_t j = k + 1; j < a.rows; ++j) {
      double* const other = a.data + j * a.stride;
      const double factor = other[k];
      for (std::size_t i = k + 1; i < a.rows; ++i) {
        other[i] -= column[i] * factor;
      }
    }
  }
  return 0;
}

}  // namespace

void solve_transposed(ConstTile l, Tile b) {
  if (l.rows <= solved_whole_max) {
    solve_whole({CblasRight, CblasLower, CblasTrans, CblasNonUnit}, l, b);
    return;
  }
  const std::size_t half = half_of(l.rows);
  const std::size_t rest = l.rows - half;
  const Tile first = b.part(0, 0, b.rows, half);
  const Tile second = b.part(0, half, b.rows, rest);
  solve_transposed(l.part(0, 0, half, half), first);
  subtract_product(first, l.part(half, 0, rest, half), second, CblasTrans);
  solve_transposed(l.part(half, half, rest, rest), second);
}

void solve_lower(ConstTile l, Tile b) {
  if (l.rows <= solved_whole_max) {
    solve_whole({CblasLeft, CblasLower, CblasNoTrans, CblasUnit}, l, b);
    return;
  }
  const std::size_t half = half_of(l.rows);
  const std::size_t rest = l.rows - half;
  const Tile first = b.part(0, 0, half, b.columns);
  const Tile second = b.part(half, 0, rest, b.columns);
  solve_lower(l.part(0, 0, half, half), first);
  subtract_product(l.part(half, 0, rest, half), first, second, CblasNoTrans);
  solve_lower(l.part(half, half, rest, rest), second);
}

void solve_upper(ConstTile u, Tile b) {
  if (u.rows <= solved_whole_max) {
    solve_whole({CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit}, u, b);
    return;
  }
  const std::size_t half = half_of(u.rows);
  const std::size_t rest = u.rows - half;
  const Tile first = b.part(0, 0, b.rows, half);
  const Tile second = b.part(0, half, b.rows, rest);
  solve_upper(u.part(0, 0, half, half), first);
  subtract_product(first, u.part(0, half, half, rest), second, CblasNoTrans);
  solve_upper(u.part(half, half, rest, rest), second);
}

void update_symmetric(ConstTile a, Tile c) {
  cblas_dsyrk(CblasColMajor,
              CblasLower,
              CblasNoTrans,
              as_int(c.rows),
              as_int(a.columns),
              -1,
              a.data,
              as_int(a.stride),
              1,
              c.data,
              as_int(c.stride));
}

std::size_t factor_symmetric(Tile a) {
  if (a.rows <= 2 * solved_whole_max) {
    const int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', as_int(a.rows), a.data, as_int(a.stride));
    return info > 0 ? static_cast<std::size_t>(info) : 0;
  }
  const std::size_t half = half_of(a.rows);
  const std::size_t rest = a.rows - half;
  const Tile corner = a.part(0, 0, half, half);
  const Tile below = a.part(half, 0, rest, half);
  const Tile last = a.part(half, half, rest, rest);
  if (const std::size_t failed = factor_symmetric(corner)) {
    return failed;
  }
  solve_transposed(corner, below);
  update_symmetric(below, last);
  const std::size_t failed = factor_symmetric(last);
  return failed == 0 ? 0 : half + failed;
}

std::size_t factor_general(Tile a) {
  if (a.rows <= factored_whole_max) {
    return factor_columns(a);
  }
  const std::size_t half = half_of(a.rows);
  const std::size_t rest = a.rows - half;
  const Tile corner = a.part(0, 0, half, half);
  const Tile right = a.part(0, half, half, rest);
  const Tile below = a.part(half, 0, rest, half);
  const Tile last = a.part(half, half, rest, rest);
  if (const std::size_t failed = factor_general(corner)) {
    return failed;
  }
  solve_lower(corner, right);
  solve_upper(corner, below);
  subtract_product(below, right, last, CblasNoTrans);
  const std::size_t failed = factor_general(last);
  return failed == 0 ? 0 : half + failed;
}

void update_transposed(ConstTile a, ConstTile b, Tile c) {
  subtract_product(a, b, c, CblasTrans);
}

void update(ConstTile a, ConstTile b, Tile c) {
  subtract_product(a, b, c, CblasNoTrans);
}

}  // namespace cholesky
