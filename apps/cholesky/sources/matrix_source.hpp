// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cholesky/layout.hpp"

namespace cholesky {

/// The origin of a matrix: a generator or a file. Every rank has its own, and fills the tiles that it holds from it.
class MatrixSource {
 public:
  MatrixSource() = default;
  MatrixSource(const MatrixSource&) = delete;
  MatrixSource& operator=(const MatrixSource&) = delete;
  virtual ~MatrixSource() = default;

  /// Rows of the matrix.
  [[nodiscard]] virtual std::size_t size() const = 0;

  /// Sets the entries of the tiles. For `Part::lower` it compares the tiles of a file with their mirror images.
  /// Throws: `plait::Error` with `bad_input` (such as a matrix that is not symmetric) or `io`, with the file and the
  /// place in it.
  virtual void fill(const Layout& layout, Part part, std::span<const PlacedTile> tiles) = 0;
};

/// A matrix of random numbers in [-1/2, 1/2) with `diagonal` added to its diagonal: symmetric for `Part::lower`. With a
/// diagonal of at least half its size it is positive definite, and needs no pivoting. It depends on the seed only, not
/// on the machine or the ranks. A rank generates only the tiles that it fills.
[[nodiscard]] std::unique_ptr<MatrixSource> generate(std::size_t size, std::uint64_t seed, double diagonal);

/// Opens a file: Matrix Market if the name ends in .mtx, else HDF5, where `dataset` names the matrix.
/// Throws: `plait::Error` with `bad_input` or `io` that names the file and what is wrong with its header.
[[nodiscard]] std::unique_ptr<MatrixSource> open_matrix(const std::string& file, const std::string& dataset);

/// Opens a two-dimensional dataset of an HDF5 file; each tile is read by itself. An empty `dataset` selects the only
/// two-dimensional dataset at the file's root. Throws: as `open_matrix`.
[[nodiscard]] std::unique_ptr<MatrixSource> open_hdf5_matrix(const std::string& file, const std::string& dataset);

/// Compares a tile with its mirror image, which is transposed already, up to rounding.
/// Throws: `plait::Error` with `bad_input` that names `file` and the first two entries that differ.
void expect_symmetric(const std::string& file, const Layout& layout, const PlacedTile& placed, ConstTile mirror);

}  // namespace cholesky
