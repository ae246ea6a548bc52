// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cholesky/kernels/kernels.hpp"
#include "cholesky/priority.hpp"
#include "cholesky/tile_flow.hpp"

namespace cholesky {

namespace {

using plait::r;
using plait::rw;

/// The right-looking factorisation: each step factors a tile of the diagonal, solves for the tiles below it, and
/// subtracts their products from all that is right of them.
class CholeskyFlow {
 public:
  explicit CholeskyFlow(const TileFlow& tiles)
      : a_{tiles}, flow_{tiles.flow()}, work_{tiles.work()}, urgent_{tiles.layout().count()} {}

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
        flow_.flush(a_.at(i, k));  // nobody reads it any more: copies go when the step is done
      }
    }
  }

 private:
  [[nodiscard]] std::size_t rows(std::size_t index) const { return a_.layout().rows(index); }

  void factor(std::size_t k) {
    const auto kernel = [&work = work_, first = a_.layout().first(k), rows = rows(k)](std::span<double> a) {
      work.measure([&] {
        if (const std::size_t failed = factor_symmetric({a.data(), rows, rows})) {
          throw plait::Error{plait::ErrorCode::bad_input,
                             fmt::format("the matrix is not positive definite: its leading minor of order {} is not "
                                         "positive; try --lu",
                                         first + failed)};
        }
      });
    };
    flow_.submit({.kind = factor_, .priority = urgent_.factor(k)}, kernel, rw(a_.at(k, k)));
  }

  void solve(std::size_t i, std::size_t k) {
    const auto kernel = [&work = work_, rows = rows(i), columns = rows(k)](std::span<const double> l,
                                                                           std::span<double> b) {
      work.measure([&] { solve_transposed({l.data(), columns, columns}, {b.data(), rows, columns}); });
    };
    flow_.submit({.kind = solve_, .priority = urgent_.solve(i, k)}, kernel, r(a_.at(k, k)), rw(a_.at(i, k)));
  }

  void square(std::size_t j, std::size_t k) {
    const auto kernel = [&work = work_, rows = rows(j), inner = rows(k)](std::span<const double> a,
                                                                         std::span<double> c) {
      work.measure([&] { update_symmetric({a.data(), rows, inner}, {c.data(), rows, rows}); });
    };
    flow_.submit({.kind = square_, .priority = urgent_.square(j, k)}, kernel, r(a_.at(j, k)), rw(a_.at(j, j)));
  }

  void multiply(std::size_t i, std::size_t j, std::size_t k) {
    const auto kernel = [&work = work_, rows = rows(i), columns = rows(j), inner = rows(k)](
                            std::span<const double> a, std::span<const double> b, std::span<double> c) {
      work.measure(
          [&] { update_transposed({a.data(), rows, inner}, {b.data(), columns, inner}, {c.data(), rows, columns}); });
    };
    flow_.submit({.kind = multiply_, .priority = urgent_.multiply(i, k)},
                 kernel,
                 r(a_.at(i, k)),
                 r(a_.at(j, k)),
                 rw(a_.at(i, j)));
  }

  const TileFlow& a_;
  plait::Flow& flow_;
  TileWork& work_;
  Priorities urgent_;
  plait::FlowKind factor_ = flow_.kind("potrf");
  plait::FlowKind solve_ = flow_.kind("trsm");
  plait::FlowKind square_ = flow_.kind("syrk");
  plait::FlowKind multiply_ = flow_.kind("gemm");
};

}  // namespace

void submit_cholesky(const TileFlow& tiles) {
  CholeskyFlow{tiles}.submit();
}

}  // namespace cholesky
