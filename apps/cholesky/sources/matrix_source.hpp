// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cholesky/layout.hpp"

namespace cholesky {

/// Where a matrix comes from: a generator or a file. Every rank has its own, and asks it for the tiles that it holds.
class MatrixSource {
 public:
  MatrixSource() = default;
  MatrixSource(const MatrixSource&) = delete;
  MatrixSource& operator=(const MatrixSource&) = delete;
  virtual ~MatrixSource() = default;

  /// Rows of the matrix.
  [[nodiscard]] virtual std::size_t size() const = 0;

  /// Sets the numbers of the tiles. For `Part::lower` a file whose matrix is not symmetric is refused, as far as these
  /// tiles and their mirror images show.
  ///
  /// Throws: `plait::Error` with `bad_input` or `io` that names the file and the place in it.
  virtual void fill(const Layout& layout, Part part, std::span<const PlacedTile> tiles) = 0;
};

/// A matrix of random numbers in [-1/2, 1/2) with `diagonal` added to its diagonal: symmetric for `Part::lower`. With a
/// diagonal of at least half its size it is positive definite, and needs no pivoting. The same for a seed on any
/// machine and any number of ranks; a rank generates the tiles that it fills, no more.
[[nodiscard]] std::unique_ptr<MatrixSource> generate(std::size_t size, std::uint64_t seed, double diagonal);

/// The file's matrix: Matrix Market when the name ends in .mtx; else HDF5, where `dataset` names it.
///
/// Throws: `plait::Error` with `bad_input` or `io` that names the file and what is wrong with its beginning.
[[nodiscard]] std::unique_ptr<MatrixSource> open_matrix(const std::string& file, const std::string& dataset);

/// A two-dimensional dataset of numbers of an HDF5 file; each tile is read by itself. An empty `dataset` means the
/// file's only dataset of two dimensions at its root. Throws: as `open_matrix`.
[[nodiscard]] std::unique_ptr<MatrixSource> open_hdf5_matrix(const std::string& file, const std::string& dataset);

}  // namespace cholesky
