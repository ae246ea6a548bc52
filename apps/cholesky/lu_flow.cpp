// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cholesky/kernels/kernels.hpp"
#include "cholesky/tile_flow.hpp"

namespace cholesky {

namespace {

using plait::r;
using plait::rw;
using In = std::span<const double>;
using InOut = std::span<double>;

/// The factorisation by trailing updates, without pivoting: each step factors a tile of the diagonal, solves for the
/// tiles below it and right of it, and subtracts their products from all the rest.
class LuFlow {
 public:
  explicit LuFlow(const TileFlow& tiles) : a_{tiles} {}

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
      a_.flow().flush(a_.at(k, k));
      for (std::size_t i = k + 1; i < count; ++i) {
        a_.flow().flush(a_.at(i, k));
        a_.flow().flush(a_.at(k, i));
      }
    }
  }

 private:
  [[nodiscard]] std::size_t rows(std::size_t index) const { return a_.layout().rows(index); }

  void factor(std::size_t k) {
    const auto kernel = [first = a_.layout().first(k), rows = rows(k)](InOut a) {
      if (const std::size_t failed = factor_general({a.data(), rows, rows})) {
        throw plait::Error{plait::ErrorCode::bad_input,
                           fmt::format("pivot {} of the matrix is 0 or no number: it needs exchanges of rows, which "
                                       "this factorisation does not do",
                                       first + failed)};
      }
    };
    a_.submit(factor_, {k, k, k}, kernel, rw(a_.at(k, k)));
  }

  void solve_right_of(std::size_t j, std::size_t k) {
    const auto kernel = [rows = rows(k), columns = rows(j)](In lu, InOut b) {
      solve_lower({lu.data(), rows, rows}, {b.data(), rows, columns});
    };
    a_.submit(solve_lower_, {k, j, k}, kernel, r(a_.at(k, k)), rw(a_.at(k, j)));
  }

  void solve_below(std::size_t i, std::size_t k) {
    const auto kernel = [rows = rows(i), columns = rows(k)](In lu, InOut b) {
      solve_upper({lu.data(), columns, columns}, {b.data(), rows, columns});
    };
    a_.submit(solve_upper_, {i, k, k}, kernel, r(a_.at(k, k)), rw(a_.at(i, k)));
  }

  void multiply(std::size_t i, std::size_t j, std::size_t k) {
    const auto kernel = [rows = rows(i), columns = rows(j), inner = rows(k)](In a, In b, InOut c) {
      update({a.data(), rows, inner}, {b.data(), inner, columns}, {c.data(), rows, columns});
    };
    a_.submit(multiply_, {i, j, k}, kernel, r(a_.at(i, k)), r(a_.at(k, j)), rw(a_.at(i, j)));
  }

  const TileFlow& a_;
  plait::FlowKind factor_ = a_.flow().kind("getrf");
  plait::FlowKind solve_lower_ = a_.flow().kind("trsm L");
  plait::FlowKind solve_upper_ = a_.flow().kind("trsm U");
  plait::FlowKind multiply_ = a_.flow().kind("gemm");
};

}  // namespace

void submit_lu(const TileFlow& tiles) {
  LuFlow{tiles}.submit();
}

}  // namespace cholesky
