// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "pic/exact_sum.hpp"
#include "pic/problem.hpp"
#include "pic/ranks.hpp"
#include "pic/solver.hpp"
#include "pic/way.hpp"

namespace pic {

/// One rank's part of `Totals`, as integers that ranks add in any order.
template <int D>
class PartialTotals {
 public:
  void add(const Problem<D>& problem, const Patch<D>& patch, std::uint64_t steps);
  /// The whole box's. Collective.
  [[nodiscard]] Totals sum(Solver<D>& solver, Ranks& ranks);

 private:
  Totals counts_;
  ExactSum kinetic_;
  ExactSum momentum_x_;
};

}  // namespace pic
