// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/mapping.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

namespace plait::data::mapping_test {
namespace {

std::vector<std::uint64_t> counts(const Mapping& mapping, std::uint64_t elements, std::uint32_t ranks) {
  std::vector<std::uint64_t> counts(ranks);
  for (std::uint64_t id = 0; id < elements; ++id) {
    ++counts.at(mapping(ElementId{id}).value());
  }
  return counts;
}

TEST(Mapping, gives_blocks_that_differ_by_one_element_at_most) {
  for (const std::uint32_t ranks : {1U, 3U, 10U, 16U}) {
    const Mapping mapping = block(Shape{10}, ranks);
    Rank last{0};
    for (const std::uint64_t count : counts(mapping, 10, ranks)) {
      EXPECT_TRUE(count == 10 / ranks || count == 10 / ranks + 1);
    }
    for (std::uint64_t id = 0; id < 10; ++id) {
      EXPECT_LE(last, mapping(ElementId{id}));
      last = mapping(ElementId{id});
    }
  }
}

TEST(Mapping, gives_stretches_of_a_curve_as_even_as_blocks) {
  for (const Shape& shape : {Shape{10}, Shape{8, 8}, Shape{13, 5}, Shape{3, 20}, Shape{5, 3, 9}, Shape{1, 1, 2}}) {
    for (const std::uint32_t ranks : {1U, 2U, 3U, 7U, 16U, 100U}) {
      std::vector<std::uint64_t> on_curve = counts(curve(shape, ranks), shape.count(), ranks);
      EXPECT_EQ(on_curve, counts(block(shape, ranks), shape.count(), ranks)) << shape.count() << " on " << ranks;
    }
  }
}

/// Pairs of neighbours in a grid of two dimensions that are on two ranks.
int cut_pairs(const Shape& shape, const Mapping& mapping) {
  int cut = 0;
  for (std::uint64_t id = 0; id < shape.count(); ++id) {
    for (const std::array<int, 3> step : {std::array{1, 0, 0}, std::array{0, 1, 0}}) {
      const auto next = shape.neighbour(ElementId{id}, step, {});
      cut += next && mapping(*next) != mapping(ElementId{id}) ? 1 : 0;
    }
  }
  return cut;
}

TEST(Mapping, keeps_neighbours_in_a_grid_together_along_a_curve) {
  EXPECT_EQ(cut_pairs(Shape{16, 16}, curve(Shape{16, 16}, 16)), 96) << "squares of 4 by 4";
  const Shape uneven{30, 23};
  EXPECT_LT(cut_pairs(uneven, curve(uneven, 11)), 0.6 * cut_pairs(uneven, block(uneven, 11)));
}

TEST(Mapping, deals_out_cyclically_and_scatters_evenly) {
  EXPECT_EQ(cyclic(3)(ElementId{7}), Rank{1});
  for (const std::uint64_t count : counts(scattered(8), 8000, 8)) {
    EXPECT_NEAR(static_cast<double>(count), 1000, 150);
  }
}

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
}  // namespace plait::data::mapping_test
