// SPDX-License-Identifier: Apache-2.0
// Problems whose objects are the cells of a grid, for balancers that use positions and neighbours.
#pragma once

#include <cmath>
#include <cstdint>

#include "plait/base/random.hpp"
#include "plait/data/balance/problem.hpp"

namespace plait::data::balance::test {

struct Grid {
  std::uint32_t side = 16;
  std::uint32_t ranks = 4;
  double steepness = 0;  ///< Of an exponential profile along x; 0: all loads are 1.
  std::uint64_t seed = 0;
};

/// side * side objects of 1000 bytes, 10 bytes between neighbours, in blocks of rows on the ranks.
inline Problem grid_problem(const Grid& grid) {
  Random random{grid.seed};
  Problem problem;
  problem.rank_count = grid.ranks;
  for (std::uint32_t y = 0; y < grid.side; ++y) {
    for (std::uint32_t x = 0; x < grid.side; ++x) {
      const std::uint32_t id = y * grid.side + x;
      const double profile = std::exp(-grid.steepness * x / grid.side);
      problem.objects.push_back({.id = ElementId{id},
                                 .rank = Rank{id * grid.ranks / (grid.side * grid.side)},
                                 .load = profile * (grid.seed == 0 ? 1.0 : 0.9 + 0.2 * random.unit()),
                                 .bytes = 1000,
                                 .position = {x + 0.5, y + 0.5, 0}});
      if (x + 1 < grid.side) {
        problem.edges.push_back({id, id + 1, 10});
      }
      if (y + 1 < grid.side) {
        problem.edges.push_back({id, id + grid.side, 10});
      }
    }
  }
  return problem;
}

/// The same, lying the other way: blocks of columns, so that ranks begin with very different loads.
inline Problem steep_problem(const Grid& grid) {
  Problem problem = grid_problem(grid);
  for (Object& object : problem.objects) {
    object.rank = Rank{static_cast<std::uint32_t>(object.position[0] * grid.ranks / grid.side)};
  }
  return problem;
}

}  // namespace plait::data::balance::test
