// SPDX-License-Identifier: Apache-2.0
#include "cholesky/factorization.hpp"

#include <algorithm>
#include <utility>

namespace cholesky {

namespace {

Part part_of(Factors factors) {
  return factors == Factors::symmetric ? Part::lower : Part::all;
}

}  // namespace

Factorization::Factorization(plait::Runtime& runtime, const Layout& layout, FactorizationOptions options)
    : options_{std::move(options)},
      local_{layout, part_of(options_.factors), runtime.self()},
      work_{options_.on_task},
      flow_{runtime, {.submission = options_.submission, .fanout = options_.fanout}},
      tiles_{flow_, layout, local_, options_.submission, work_} {}

void Factorization::run() {
  options_.factors == Factors::symmetric ? submit_cholesky(tiles_) : submit_lu(tiles_);
  flow_.wait();
}

double flops_of(Factors factors, std::size_t size) {
  const auto n = static_cast<double>(size);
  return (factors == Factors::symmetric ? 1.0 : 2.0) / 3 * n * n * n;
}

std::uint64_t task_count(const Layout& layout, Factors factors, plait::Rank self) {
  std::uint64_t tasks = 0;
  for (std::size_t row = 0; row < layout.count(); ++row) {
    const std::size_t columns = factors == Factors::symmetric ? row + 1 : layout.count();
    for (std::size_t column = 0; column < columns; ++column) {
      // Every step before the tile's own changes it, and its own ends it.
      tasks += layout.owner(row, column) == self ? std::min(row, column) + 1 : 0;
    }
  }
  return tasks;
}

}  // namespace cholesky
