// SPDX-License-Identifier: Apache-2.0
#include "dns/solver.hpp"

#include <gtest/gtest.h>

#include "dns/flow.hpp"

namespace {

using namespace dns;
using namespace dns::test;

TEST(TaylorGreen, reaches_the_known_energy_and_enstrophy_on_any_grid_of_ranks) {
  for (const std::string variant : {"PLT", "PLN"}) {
    for (const Grid grid : {Grid{1, 1}, Grid{1, 2}, Grid{2, 1}, Grid{2, 2}, Grid{1, 3}, Grid{3, 2}}) {
      const FlowSetup setup{.grid = grid, .physics = {.viscosity = 1.0 / 1600}, .variant = variant};
      const Diagnostics after = diagnose_after(setup, start_taylor_green, 10, 0.01);
      EXPECT_NEAR(after.energy, 0.12495311751674, 1e-14) << grid.row << " x " << grid.column << variant;
      EXPECT_NEAR(after.enstrophy, 0.3752499311141, 1e-12) << grid.row << " x " << grid.column << variant;
    }
  }
}

}  // namespace
