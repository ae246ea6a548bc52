// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// What a factorisation of `cholesky::generate(size, seed, size)` took, and what it came to.
struct Factored {
  double seconds = 0;
  double log_determinant = 0;  ///< Of L; equal for all who do it right. On rank 0.
};

/// The matrix, and the block or tile that a peer shall use.
struct Problem {
  std::size_t size = 0;
  std::size_t block = 0;
  std::uint64_t seed = 1;
};

/// ScaLAPACK's pdpotrf on all ranks of MPI_COMM_WORLD, on a grid with that many rows; nothing where it was not built.
/// Collective. The seconds are those of the slowest rank, on all.
[[nodiscard]] std::optional<Factored> scalapack(const Problem& problem, int grid_rows);

/// LAPACK's dpotrf in one piece, with this many threads of the BLAS; nothing where the BLAS has no such setting.
[[nodiscard]] std::optional<Factored> lapack(const Problem& problem, int threads);

/// The same tiles, kernels and priorities as plait's, submitted to StarPU on one rank. Its workers sleep between runs.
class StarPu {
 public:
  /// `scheduler` is one of StarPU's policies.
  StarPu(unsigned workers, const std::string& scheduler);
  StarPu(const StarPu&) = delete;
  StarPu& operator=(const StarPu&) = delete;
  ~StarPu();

  /// Nothing where it was not built.
  [[nodiscard]] std::optional<Factored> factor(const Problem& problem);
  [[nodiscard]] static std::string version();

 private:
  bool is_there_ = false;
};

}  // namespace bench
