// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/hilbert.hpp"

#include <array>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

namespace plait::data::hilbert_test {
namespace {

TEST(Hilbert, visits_each_cell_once_going_to_a_neighbour_each_time) {
  struct Case {
    std::size_t dimensions;
    unsigned bits;
  };
  for (const auto& [dimensions, bits] : {Case{1, 5}, Case{2, 1}, Case{2, 5}, Case{3, 1}, Case{3, 4}}) {
    const std::uint64_t cells = 1ULL << (bits * dimensions);
    const std::uint32_t side = 1U << bits;
    std::vector<std::array<std::uint32_t, 3>> order(cells);
    std::vector<bool> is_seen(cells);
    for (std::uint64_t i = 0; i < cells; ++i) {
      const std::array<std::uint32_t, 3> cell{static_cast<std::uint32_t>(i % side),
                                              static_cast<std::uint32_t>(i / side % side),
                                              static_cast<std::uint32_t>(i / side / side)};
      const std::uint64_t place = hilbert_place(std::span{cell}.first(dimensions), bits);
      ASSERT_LT(place, cells);
      ASSERT_FALSE(is_seen[place]);
      is_seen[place] = true;
      order[place] = cell;
    }
    EXPECT_EQ(order[0], (std::array<std::uint32_t, 3>{}));
    for (std::uint64_t i = 1; i < cells; ++i) {
      int steps = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        steps += std::abs(static_cast<int>(order[i][axis]) - static_cast<int>(order[i - 1][axis]));
      }
      ASSERT_EQ(steps, 1) << dimensions << " dimensions, place " << i;
    }
  }
}

TEST(Hilbert, tells_apart_cells_of_the_finest_grids) {
  const std::array<std::uint32_t, 2> last{0xFFFFFFFFU, 0};
  EXPECT_EQ(hilbert_place(last, 32), ~0ULL);
  const std::array<std::uint32_t, 3> corner{(1U << 21U) - 1, 0, 0};
  EXPECT_EQ(hilbert_place(corner, 21), (1ULL << 63U) - 1);
}

}  // namespace
}  // namespace plait::data::hilbert_test
