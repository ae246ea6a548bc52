// SPDX-License-Identifier: Apache-2.0
// A whole run under MPI: whatever grid is chosen for these ranks gives what is known of the flow.
#include <gtest/gtest.h>
#include <mpi.h>

#include "dns/flow.hpp"

namespace dns::test {
namespace {

TEST(TaylorGreen, is_the_same_on_any_number_of_ranks) {
  plait::Runtime runtime{MPI_COMM_WORLD};
  for (const char* const variant : {"PLT", "PLN"}) {
    const FlowSetup setup{.grid = {0, 0}, .physics = {.viscosity = 1.0 / 1600}, .variant = variant};
    run_rank(runtime, setup, [](plait::Runtime& one, Solver& solver) {
      start_taylor_green(one, solver);
      for (int i = 0; i < 10; ++i) {
        solver.step(0.01);
      }
      const Diagnostics after = solver.diagnose();
      EXPECT_NEAR(after.energy, 0.12495311751674, 1e-14);
      EXPECT_NEAR(after.enstrophy, 0.3752499311141, 1e-12);
    });
  }
}

}  // namespace
}  // namespace dns::test

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  MPI_Finalize();
  return status;
}
