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

/// The factorisation by trailing updates: each step factors a tile of the diagonal, solves for the tiles below it, and
/// subtracts their products from all that is right of them.
class CholeskyFlow {
 public:
  explicit CholeskyFlow(const TileFlow& tiles) : a_{tiles} {}

  void submit() {
    const std::size_t count = a_.layout().count();
    for (std::size_t k = 0; k < count; ++k) {
      factor(k);
      for (std::size_t i = k + 1; i < count; ++i) {
        solve(i, k);
      }
      for (std::size_t j = k + 1; j < count; ++j) {
        square(j, k);
        for (std::size_t i = j + 1; i < count; ++i) {
          multiply(i, j, k);
        }
      }
      for (std::size_t i = k; i < count; ++i) {
        a_.flow().flush(a_.at(i, k));  // the last read: copies go when the step is done
      }
    }
  }

 private:
  [[nodiscard]] std::size_t rows(std::size_t index) const { return a_.layout().rows(index); }

  void factor(std::size_t k) {
    const auto kernel = [first = a_.layout().first(k), rows = rows(k)](InOut a) {
      if (const std::size_t failed = factor_symmetric({a.data(), rows, rows})) {
        throw plait::Error{plait::ErrorCode::bad_input,
                           fmt::format("the matrix is not positive definite: its leading minor of order {} is not "
                                       "positive; try --lu",
                                       first + failed)};
      }
    };
    a_.submit(factor_, {k, k, k}, kernel, rw(a_.at(k, k)));
  }

  void solve(std::size_t i, std::size_t k) {
    const auto kernel = [rows = rows(i), columns = rows(k)](In l, InOut b) {
      solve_transposed({l.data(), columns, columns}, {b.data(), rows, columns});
    };
    a_.submit(solve_, {i, k, k}, kernel, r(a_.at(k, k)), rw(a_.at(i, k)));
  }

  void square(std::size_t j, std::size_t k) {
    const auto kernel = [rows = rows(j), inner = rows(k)](In a, InOut c) {
      update_symmetric({a.data(), rows, inner}, {c.data(), rows, rows});
    };
    a_.submit(square_, {j, j, k}, kernel, r(a_.at(j, k)), rw(a_.at(j, j)));
  }

  void multiply(std::size_t i, std::size_t j, std::size_t k) {
    const auto kernel = [rows = rows(i), columns = rows(j), inner = rows(k)](In a, In b, InOut c) {
      update_transposed({a.data(), rows, inner}, {b.data(), columns, inner}, {c.data(), rows, columns});
    };
    a_.submit(multiply_, {i, j, k}, kernel, r(a_.at(i, k)), r(a_.at(j, k)), rw(a_.at(i, j)));
  }

  const TileFlow& a_;
  plait::FlowKind factor_ = a_.flow().kind("potrf");
  plait::FlowKind solve_ = a_.flow().kind("trsm");
  plait::FlowKind square_ = a_.flow().kind("syrk");
  plait::FlowKind multiply_ = a_.flow().kind("gemm");
};

}  // namespace

void submit_cholesky(const TileFlow& tiles) {
  CholeskyFlow{tiles}.submit();
}

}  // namespace cholesky
