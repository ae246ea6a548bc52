// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "cholesky/kernels/kernels.hpp"
#include "cholesky/tile_flow.hpp"

namespace cholesky {

namespace {

using plait::r;
using plait::rw;

/// The right-looking factorisation without pivoting: each step factors a tile of the diagonal, solves for the tiles
/// below it and right of it, and subtracts their products from all the rest.
class LuFlow {
 public:
  explicit LuFlow(const TileFlow& tiles) : a_{tiles}, flow_{tiles.flow()}, work_{tiles.work()} {}

  void submit() {
    const std::size_t count = a_.layout().count();
    for (std::size_t k = 0; k < count; ++k) {
      factor(k);
      for (std::size_t i = k + 1; i < count; ++i) {
        solve_right_of(i, k);
        solve_below(i, k);
      }
      for (std::size_t j = k + 1; j < count; ++j) {
        for (std::size_t i = k + 1; i < count; ++i) {
          multiply(i, j, k);
        }
      }
      flow_.flush(a_.at(k, k));
      for (std::size_t i = k + 1; i < count; ++i) {
        flow_.flush(a_.at(i, k));
        flow_.flush(a_.at(k, i));
      }
    }
  }

 private:
  [[nodiscard]] std::size_t rows(std::size_t index) const { return a_.layout().rows(index); }
  /// The longest way to the end from the task that works on tile (i, j) in step k, if all tasks take equally long: what
  /// is left to do on the tile, and three tasks for each step after it.
  [[nodiscard]] int urgency(std::size_t i, std::size_t j, std::size_t k) const {
    const std::size_t last = std::min(i, j);
    const std::size_t steps = a_.layout().count() - 1 - std::max(i, j);
    const std::size_t way = last - k + 1 + (i != j ? std::max(i, j) - last + 1 : 0);
    return static_cast<int>(way + 3 * steps);
  }

  void factor(std::size_t k) {
    const auto kernel = [&work = work_, first = a_.layout().first(k), rows = rows(k)](std::span<double> a) {
      work.measure([&] {
        if (const std::size_t failed = factor_general({a.data(), rows, rows})) {
          throw plait::Error{plait::ErrorCode::bad_input,
                             fmt::format("pivot {} of the matrix is 0 or no number: it needs exchanges of rows, which "
                                         "this factorisation does not do",
                                         first + failed)};
        }
      });
    };
    flow_.submit({.kind = factor_, .priority = urgency(k, k, k)}, kernel, rw(a_.at(k, k)));
  }

  void solve_right_of(std::size_t j, std::size_t k) {
    const auto kernel = [&work = work_, rows = rows(k), columns = rows(j)](std::span<const double> lu,
                                                                           std::span<double> b) {
      work.measure([&] { solve_lower({lu.data(), rows, rows}, {b.data(), rows, columns}); });
    };
    flow_.submit({.kind = solve_lower_, .priority = urgency(k, j, k)}, kernel, r(a_.at(k, k)), rw(a_.at(k, j)));
  }

  void solve_below(std::size_t i, std::size_t k) {
    const auto kernel = [&work = work_, rows = rows(i), columns = rows(k)](std::span<const double> lu,
                                                                           std::span<double> b) {
      work.measure([&] { solve_upper({lu.data(), columns, columns}, {b.data(), rows, columns}); });
    };
    flow_.submit({.kind = solve_upper_, .priority = urgency(i, k, k)}, kernel, r(a_.at(k, k)), rw(a_.at(i, k)));
  }

  void multiply(std::size_t i, std::size_t j, std::size_t k) {
    const auto kernel = [&work = work_, rows = rows(i), columns = rows(j), inner = rows(k)](
                            std::span<const double> a, std::span<const double> b, std::span<double> c) {
      work.measure([&] { update({a.data(), rows, inner}, {b.data(), inner, columns}, {c.data(), rows, columns}); });
    };
    flow_.submit(
        {.kind = multiply_, .priority = urgency(i, j, k)}, kernel, r(a_.at(i, k)), r(a_.at(k, j)), rw(a_.at(i, j)));
  }

  const TileFlow& a_;
  plait::Flow& flow_;
  TileWork& work_;
  plait::FlowKind factor_ = flow_.kind("getrf");
  plait::FlowKind solve_lower_ = flow_.kind("trsm L");
  plait::FlowKind solve_upper_ = flow_.kind("trsm U");
  plait::FlowKind multiply_ = flow_.kind("gemm");
};

}  // namespace

void submit_lu(const TileFlow& tiles) {
  LuFlow{tiles}.submit();
}

}  // namespace cholesky
