// SPDX-License-Identifier: Apache-2.0
#include "cholesky/tile_flow.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "cholesky/kernels/kernels.hpp"

namespace cholesky {

namespace {

plait::DataGrid<double>::Pieces pieces_of(const Layout& layout, const LocalTiles& local) {
  return {.element_count = [&layout](std::uint32_t row,
                                     std::uint32_t column) { return layout.rows(row) * layout.rows(column); },
          .memory =
              [&local](std::uint32_t row, std::uint32_t column) {
                const Tile tile = local.at(row, column);
                return std::span{tile.data, tile.rows * tile.columns};
              }};
}

}  // namespace

TileFlow::TileFlow(
    plait::Flow& flow, const Layout& layout, const LocalTiles& local, plait::Submission submission, TileWork& work)
    : flow_{flow},
      layout_{layout},
      submits_every_task_{submission == plait::Submission::every_task},
      grid_{submits_every_task_ ? ProcessGrid{} : layout.grid()},
      place_{submits_every_task_ ? plait::Rank{0} : flow.self()},
      work_{work},
      data_{flow,
            "A",
            {.rows = narrow(layout.count()), .columns = narrow(layout.count())},
            pieces_of(layout, local),
            layout.grid()} {}

void TileFlow::send(std::size_t row, std::size_t column, const Readers& in_column, const Readers& in_row) const {
  if (submits_every_task_ || layout_.owner(row, column) != flow_.self()) {
    return;
  }
  const ProcessGrid& grid = layout_.grid();
  std::vector<plait::Rank> readers;
  for (std::size_t i = in_column.first; i < std::min(in_column.end, in_column.first + grid.rows); ++i) {
    readers.push_back(layout_.owner(i, in_column.other));
  }
  for (std::size_t j = in_row.first; j < std::min(in_row.end, in_row.first + grid.columns); ++j) {
    readers.push_back(layout_.owner(in_row.other, j));
  }
  const std::size_t step = std::min(row, column);
  const std::size_t next = std::min(step + 1, layout_.count() - 1);
  flow_.send(plait::r(at(row, column), last_version(row, column)),
             readers,
             priority(layout_, {std::max(row, next), std::max(column, next), step}));
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
    if (a.has_row(k) && a.has_column(k)) {
      a.submit(potrf, {k, k, k}, factor, a.rw(k, k));
      a.send(k, k, {k + 1, count, k}, {});
    }
    if (a.has_column(k)) {
      for (const std::size_t i : a.rows(k + 1)) {
        a.submit(trsm, {i, k, k}, solve_transposed, a.r(k, k), a.rw(i, k));
        a.send(i, k, {i, count, i}, {k + 1, i, i});
      }
    }
    for (const std::size_t j : a.columns(k + 1)) {
      for (const std::size_t i : a.rows(j)) {
        if (i == j) {
          a.submit(syrk, {j, j, k}, update_symmetric, a.r(j, k), a.rw(j, j));
        } else {
          a.submit(gemm, {i, j, k}, update_transposed, a.r(i, k), a.r(j, k), a.rw(i, j));
        }
      }
    }
    for (std::size_t i = k; i < count; ++i) {
      if (a.has_row(i) || a.has_column(i)) {
        a.flush(i, k);
      }
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
    if (a.has_row(k) && a.has_column(k)) {
      a.submit(getrf, {k, k, k}, factor, a.rw(k, k));
      a.send(k, k, {k + 1, count, k}, {k + 1, count, k});
    }
    if (a.has_row(k)) {
      for (const std::size_t j : a.columns(k + 1)) {
        a.submit(trsm_lower, {k, j, k}, solve_lower, a.r(k, k), a.rw(k, j));
        a.send(k, j, {k + 1, count, j}, {});
      }
    }
    if (a.has_column(k)) {
      for (const std::size_t i : a.rows(k + 1)) {
        a.submit(trsm_upper, {i, k, k}, solve_upper, a.r(k, k), a.rw(i, k));
        a.send(i, k, {}, {k + 1, count, i});
      }
    }
    for (const std::size_t j : a.columns(k + 1)) {
      for (const std::size_t i : a.rows(k + 1)) {
        a.submit(gemm, {i, j, k}, update, a.r(i, k), a.r(k, j), a.rw(i, j));
      }
    }
    if (a.has_row(k) || a.has_column(k)) {
      a.flush(k, k);
    }
    for (const std::size_t i : a.rows(k + 1)) {
      a.flush(i, k);
    }
    for (const std::size_t j : a.columns(k + 1)) {
      a.flush(k, j);
    }
  }
}

}  // namespace cholesky
