// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "cholesky/sources/matrix_source.hpp"

namespace cholesky {

/// A two-dimensional dataset of numbers of an HDF5 file; each tile is read by itself. An empty `dataset` means the
/// file's only dataset of two dimensions at its root. Throws: as `open_matrix`.
[[nodiscard]] std::unique_ptr<MatrixSource> open_hdf5_matrix(const std::string& file, const std::string& dataset);

}  // namespace cholesky
