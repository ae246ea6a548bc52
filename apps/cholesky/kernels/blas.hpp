// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace cholesky {

/// Configures OpenBLAS for tasks: one thread a call, and kernels that suit the processor. Call it first in `main`,
/// before MPI.
///
/// An OpenBLAS older than the processor selects SSE3 kernels. It reads OPENBLAS_CORETYPE when it is loaded, so the
/// program sets the variable and executes itself again. A value that the user has set is kept.
void prepare_blas(char** argv);

/// Name, version and kernels of the BLAS.
[[nodiscard]] std::string describe_blas();

/// Measures the floating-point rate of products of tiles of `tile` rows, summed over `threads` concurrent threads, in
/// flops a second. Each thread takes the fastest of its trials. Takes about 0.1 s.
[[nodiscard]] double measure_product_rate(std::size_t tile, std::size_t threads);

}  // namespace cholesky
