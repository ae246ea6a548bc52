// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// Time and result of a factorisation of `cholesky::generate(size, seed, size)`.
struct Factored {
  double seconds = 0;
  double log_determinant = 0;  ///< Of L, on rank 0; equal for all correct factorisations.
};

/// The matrix, and the block or tile size.
struct Problem {
  std::size_t size = 0;
  std::size_t block = 0;
  std::uint64_t seed = 1;
};

/// ScaLAPACK's pdpotrf on all ranks of MPI_COMM_WORLD, on a grid with `grid_rows` rows; nothing if it was not built.
/// Collective. All ranks get the seconds of the slowest rank.
[[nodiscard]] std::optional<Factored> scalapack(const Problem& problem, int grid_rows);

/// LAPACK's dpotrf on the whole matrix, with `threads` threads of the BLAS; nothing if the BLAS has no such setting.
[[nodiscard]] std::optional<Factored> lapack(const Problem& problem, int threads);

/// The tiles, kernels and priorities of plait's factorisation, submitted to StarPU on one rank. Its workers sleep
/// between runs.
class StarPu {
 public:
  /// `scheduler` is one of StarPU's policies.
  StarPu(unsigned workers, const std::string& scheduler);
  StarPu(const StarPu&) = delete;
  StarPu& operator=(const StarPu&) = delete;
  ~StarPu();

  /// Nothing if StarPU was not built.
  [[nodiscard]] std::optional<Factored> factor(const Problem& problem);
  [[nodiscard]] static std::string version();

 private:
  bool is_there_ = false;
};

}  // namespace bench
