// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace cholesky {

/// How urgent the tasks of a tiled Cholesky factorisation are: the tasks on the longest way from each to the end,
/// itself counted, as if all took equally long. Step `k` factors tile (k, k).
class Priorities {
 public:
  /// `count`: tiles in a row.
  explicit Priorities(std::size_t count) : count_{count} {}

  /// Each step takes three more: a solve, a square, and the next factorisation.
  [[nodiscard]] int factor(std::size_t k) const { return 3 * static_cast<int>(count_ - 1 - k) + 1; }
  /// Of tile (i, k): then the remaining squares of row i, and its factorisation.
  [[nodiscard]] int solve(std::size_t i, std::size_t k) const { return static_cast<int>(i - k) + factor(i) + 1; }
  /// Of tile (i, i), in step k.
  [[nodiscard]] int square(std::size_t i, std::size_t k) const { return static_cast<int>(i - k) + factor(i); }
  /// Of any tile (i, j), in step k: the products of that tile that remain, j - k with this one, then the solve in step
  /// j.
  [[nodiscard]] int multiply(std::size_t i, std::size_t k) const { return static_cast<int>(i - k) + factor(i) + 1; }

 private:
  std::size_t count_;
};

}  // namespace cholesky
