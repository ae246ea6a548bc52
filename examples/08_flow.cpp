// SPDX-License-Identifier: Apache-2.0
// ranks: 2
// A sequential program whose tasks run in parallel on two ranks. Both ranks submit all tasks; messages and dependencies
// follow from the data that each task accesses.
#include <iostream>
#include <numeric>
#include <span>

#include "plait/plait.hpp"

using Values = std::span<double>;
using ConstValues = std::span<const double>;

int main(int argc, char** argv) {
  const plait::MpiSession mpi{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};
  plait::Flow flow{runtime};

  // Eight blocks of a vector, alternating between rank 0 and rank 1, and a sum on rank 0.
  const plait::DataGrid<double> x{flow, "x", {.rows = 8}, 1000, plait::BlockCyclic{.rows = 2}};
  const plait::Data<double> sum = flow.data<double>(plait::Rank{0}, 1);
  sum.reduces_with(0.0, [](double& into, double from) { into += from; });

  for (std::uint32_t block = 0; block < 8; ++block) {
    flow.submit([block](Values values) { std::iota(values.begin(), values.end(), 1000.0 * block); }, w(x(block, 0)));
  }
  for (std::uint32_t block = 1; block < 8; ++block) {  // each reads its neighbour's, which the other rank owns
    flow.submit([](ConstValues below, Values values) { values[0] = (below[999] + values[1]) / 2; },
                r(x(block - 1, 0)),
                rw(x(block, 0)));
  }
  const plait::FlowKind add = flow.kind("add");
  for (std::uint32_t block = 0; block < 8; ++block) {  // on the rank of the block; each rank has a partial sum
    flow.submit(
        {.kind = add, .priority = 1},
        [](ConstValues values, Values total) { total[0] += std::accumulate(values.begin(), values.end(), 0.0); },
        r(x(block, 0)),
        reduce(sum));
  }
  flow.submit([](ConstValues total) { std::cout << "the sum is " << static_cast<long>(total[0]) << '\n'; }, r(sum));
  flow.wait();
}
