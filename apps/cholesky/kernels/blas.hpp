// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace cholesky {

/// Makes the BLAS of this process fit for tasks; call it first in `main`, before MPI.
///
/// One thread a call: workers are the threads here. And an OpenBLAS that is older than the processor falls back on
/// kernels of the year 2004; it reads OPENBLAS_CORETYPE as it is loaded, so the program then starts itself anew with
/// that set to what the processor can do. A user's own OPENBLAS_CORETYPE stays as it is.
void prepare_blas(char** argv);

/// Name, version and kernels of the BLAS.
[[nodiscard]] std::string describe_blas();

/// Flops a second of products of tiles of `tile` rows, on `threads` threads at once, together: of each the fastest of
/// some trials. Takes about 0.1 s.
[[nodiscard]] double measure_product_rate(std::size_t tile, std::size_t threads);

}  // namespace cholesky
