// SPDX-License-Identifier: Apache-2.0
#include "cholesky/tile_flow.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "cholesky/kernels/kernels.hpp"

namespace cholesky {

TileFlow::TileFlow(plait::Flow& flow, const Layout& layout, Part part, const LocalTiles& local, TileWork& work)
    : flow_{flow}, layout_{layout}, work_{work}, data_(layout.count() * layout.count()) {
  std::vector<std::span<double>> memory(data_.size());
  for (const auto& [row, column, tile] : local.tiles()) {
    memory[row * layout.count() + column] = {tile.data, tile.rows * tile.columns};
  }
  for (std::size_t row = 0; row < layout.count(); ++row) {
    const std::size_t columns = part == Part::lower ? row + 1 : layout.count();
    for (std::size_t column = 0; column < columns; ++column) {
      const std::size_t index = row * layout.count() + column;
      data_[index] = flow.data(layout.owner(row, column), layout.rows(row) * layout.rows(column), memory[index]);
    }
  }
}

int priority(const Layout& layout, const TaskPlace& place) {
  const auto [first, last] = std::minmax(place.row, place.column);
  const std::size_t steps = layout.count() - 1 - last;
  const std::size_t way = first - place.step + 1 + (first != last ? last - first + 1 : 0);
  return static_cast<int>(way + 3 * steps);
}

void submit_cholesky(const TileFlow& a) {
  const plait::FlowKind potrf = a.kind("potrf");
  const plait::FlowKind trsm = a.kind("trsm");
  const plait::FlowKind syrk = a.kind("syrk");
  const plait::FlowKind gemm = a.kind("gemm");
  const std::size_t count = a.layout().count();
  for (std::size_t k = 0; k < count; ++k) {
    const auto factor = [first = a.layout().first(k)](Tile tile) {
      if (const std::size_t failed = factor_symmetric(tile)) {
        throw plait::Error{plait::ErrorCode::bad_input,
                           fmt::format("the matrix is not positive definite: its leading minor of order {} is not "
                                       "positive; try --lu",
                                       first + failed)};
      }
    };
    a.submit(potrf, {k, k, k}, factor, a.rw(k, k));
    for (std::size_t i = k + 1; i < count; ++i) {
      a.submit(trsm, {i, k, k}, solve_transposed, a.r(k, k), a.rw(i, k));
    }
    for (std::size_t j = k + 1; j < count; ++j) {
      a.submit(syrk, {j, j, k}, update_symmetric, a.r(j, k), a.rw(j, j));
      for (std::size_t i = j + 1; i < count; ++i) {
        a.submit(gemm, {i, j, k}, update_transposed, a.r(i, k), a.r(j, k), a.rw(i, j));
      }
    }
    for (std::size_t i = k; i < count; ++i) {
      a.flush(i, k);
    }
  }
}

void submit_lu(const TileFlow& a) {
  const plait::FlowKind getrf = a.kind("getrf");
  const plait::FlowKind trsm_lower = a.kind("trsm L");
  const plait::FlowKind trsm_upper = a.kind("trsm U");
  const plait::FlowKind gemm = a.kind("gemm");
  const std::size_t count = a.layout().count();
  for (std::size_t k = 0; k < count; ++k) {
    const auto factor = [first = a.layout().first(k)](Tile tile) {
      if (const std::size_t failed = factor_general(tile)) {
        throw plait::Error{
            plait::ErrorCode::bad_input,
            fmt::format("pivot {} of the matrix is 0 or not finite: LU without pivoting cannot factor it; "
                        "reorder its rows",
                        first + failed)};
      }
    };
    a.submit(getrf, {k, k, k}, factor, a.rw(k, k));
    for (std::size_t i = k + 1; i < count; ++i) {
      a.submit(trsm_lower, {k, i, k}, solve_lower, a.r(k, k), a.rw(k, i));
      a.submit(trsm_upper, {i, k, k}, solve_upper, a.r(k, k), a.rw(i, k));
    }
    for (std::size_t j = k + 1; j < count; ++j) {
      for (std::size_t i = k + 1; i < count; ++i) {
        a.submit(gemm, {i, j, k}, update, a.r(i, k), a.r(k, j), a.rw(i, j));
      }
    }
    a.flush(k, k);
    for (std::size_t i = k + 1; i < count; ++i) {
      a.flush(i, k);
      a.flush(k, i);
    }
  }
}

}  // namespace cholesky
