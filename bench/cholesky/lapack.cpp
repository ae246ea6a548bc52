// SPDX-License-Identifier: Apache-2.0
#include <cblas.h>
#include <cmath>
#include <lapacke.h>

#include "cholesky/layout.hpp"
#include "cholesky/peers.hpp"
#include "cholesky/sources/matrix_source.hpp"
#include "support/stopwatch.hpp"

namespace bench {

#ifdef OPENBLAS_VERSION

std::optional<Factored> lapack(const Problem& problem, int threads) {
  const cholesky::Layout layout{problem.size, problem.size, {1, 1}};
  const cholesky::LocalTiles local{layout, cholesky::Part::lower, plait::Rank{0}};
  cholesky::generate(problem.size, problem.seed, static_cast<double>(problem.size))
      ->fill(layout, cholesky::Part::lower, local.tiles());
  const cholesky::Tile all = local.tiles().front().tile;
  const auto size = static_cast<int>(problem.size);
  openblas_set_num_threads(threads);
  const Stopwatch watch;
  const int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', size, all.data, size);
  Factored result{.seconds = watch.seconds()};
  openblas_set_num_threads(1);
  for (std::size_t row = 0; row < problem.size; ++row) {
    result.log_determinant += info == 0 ? std::log(all.at(row, row)) : NAN;
  }
  return result;
}

#else

std::optional<Factored> lapack(const Problem&, int) {
  return std::nullopt;
}

#endif

}  // namespace bench
