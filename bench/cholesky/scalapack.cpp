// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include <mpi.h>

#include "cholesky/layout.hpp"
#include "cholesky/peers.hpp"
#include "cholesky/sources/matrix_source.hpp"
#include "support/stopwatch.hpp"

namespace bench {

#ifdef PLAIT_WITH_SCALAPACK

extern "C" {
// ScaLAPACK has no header; these are the routines that its users' guide documents.
void Cblacs_get(int context, int request, int* value);
void Cblacs_gridinit(int* context, const char* layout, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
void Cblacs_gridexit(int context);
int numroc_(const int* size, const int* block, const int* place, const int* source, const int* places);
void descinit_(int* descriptor,
               const int* rows,
               const int* columns,
               const int* row_block,
               const int* column_block,
               const int* row_source,
               const int* column_source,
               const int* context,
               const int* leading,
               int* info);
void pdpotrf_(const char* part,
              const int* size,
              double* matrix,
              const int* row,
              const int* column,
              const int* descriptor,
              int* info,
              std::size_t part_length);
}

namespace {

/// This rank's part of the matrix, stored as ScaLAPACK wants it.
struct LocalMatrix {
  std::vector<double> numbers;
  int leading = 1;  ///< Numbers from column to column.
};

class BlacsGrid {
 public:
  explicit BlacsGrid(int rows) {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    Cblacs_get(-1, 0, &context_);
    Cblacs_gridinit(&context_, "Row", rows, ranks / rows);
    Cblacs_gridinfo(context_, &rows_, &columns_, &row_, &column_);
  }
  BlacsGrid(const BlacsGrid&) = delete;
  BlacsGrid& operator=(const BlacsGrid&) = delete;
  ~BlacsGrid() { Cblacs_gridexit(context_); }

  [[nodiscard]] const int& context() const { return context_; }
  [[nodiscard]] cholesky::ProcessGrid shape() const {
    return {static_cast<std::uint32_t>(rows_), static_cast<std::uint32_t>(columns_)};
  }
  [[nodiscard]] plait::Rank rank() const { return plait::Rank{static_cast<std::uint32_t>(row_ * columns_ + column_)}; }
  [[nodiscard]] LocalMatrix make(int size, int block) const {
    constexpr int zero = 0;
    const int rows = numroc_(&size, &block, &row_, &zero, &rows_);
    const int columns = numroc_(&size, &block, &column_, &zero, &columns_);
    return {std::vector<double>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns)), std::max(rows, 1)};
  }

 private:
  int context_ = 0;
  int rows_ = 0;
  int columns_ = 0;
  int row_ = 0;
  int column_ = 0;
};

/// Calls `visit(tile, offset of its first number in the local matrix)` for the tiles on and below the diagonal.
template <class Visit>
void each_tile(const cholesky::Layout& layout,
               const cholesky::LocalTiles& local,
               const LocalMatrix& matrix,
               Visit visit) {
  for (const cholesky::PlacedTile& placed : local.tiles()) {
    const std::size_t row = placed.row / layout.grid().rows * layout.tile();
    const std::size_t column = placed.column / layout.grid().columns * layout.tile();
    visit(placed, row + column * static_cast<std::size_t>(matrix.leading));
  }
}

void fill(const cholesky::Layout& layout, const cholesky::LocalTiles& local, LocalMatrix& matrix) {
  each_tile(layout, local, matrix, [&](const cholesky::PlacedTile& placed, std::size_t begin) {
    for (std::size_t column = 0; column < placed.tile.columns; ++column) {
      for (std::size_t row = 0; row < placed.tile.rows; ++row) {
        matrix.numbers[begin + row + column * static_cast<std::size_t>(matrix.leading)] = placed.tile.at(row, column);
      }
    }
  });
}

double log_determinant(const cholesky::Layout& layout, const cholesky::LocalTiles& local, const LocalMatrix& matrix) {
  double sum = 0;
  each_tile(layout, local, matrix, [&](const cholesky::PlacedTile& placed, std::size_t begin) {
    for (std::size_t row = 0; placed.row == placed.column && row < placed.tile.rows; ++row) {
      sum += std::log(matrix.numbers[begin + row * (static_cast<std::size_t>(matrix.leading) + 1)]);
    }
  });
  return sum;
}

}  // namespace

std::optional<Factored> scalapack(const Problem& problem, int grid_rows) {
  const BlacsGrid grid{grid_rows};
  constexpr int zero = 0;
  constexpr int one = 1;
  const auto size = static_cast<int>(problem.size);
  const auto block = static_cast<int>(problem.block);
  const cholesky::Layout layout{problem.size, problem.block, grid.shape()};
  const cholesky::LocalTiles local{layout, cholesky::Part::lower, grid.rank()};
  cholesky::generate(problem.size, problem.seed, static_cast<double>(problem.size))
      ->fill(layout, cholesky::Part::lower, local.tiles());
  LocalMatrix matrix = grid.make(size, block);
  fill(layout, local, matrix);
  std::array<int, 9> descriptor{};
  int info = 0;
  descinit_(descriptor.data(), &size, &size, &block, &block, &zero, &zero, &grid.context(), &matrix.leading, &info);
  MPI_Barrier(MPI_COMM_WORLD);
  const Stopwatch watch;
  pdpotrf_("L", &size, matrix.numbers.data(), &one, &one, descriptor.data(), &info, 1);
  Factored result{.seconds = watch.seconds(),
                  .log_determinant = info == 0 ? log_determinant(layout, local, matrix) : NAN};
  MPI_Allreduce(MPI_IN_PLACE, &result.seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &result.log_determinant, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return result;
}

#else

std::optional<Factored> scalapack(const Problem&, int) {
  return std::nullopt;
}

#endif

}  // namespace bench
