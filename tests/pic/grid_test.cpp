// SPDX-License-Identifier: Apache-2.0
#include "pic/grid.hpp"

#include <map>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

#include "pic/transfer.hpp"

namespace grid_test {
namespace {

using namespace pic;

Grid<2> box_with_walls_in_x(std::int32_t x, std::int32_t y) {
  return {.cells = {x, y},
          .spacing = {1, 1},
          .fields = {FieldBorder::conducting, FieldBorder::periodic},
          .particles = {{{ParticleBorder::absorbing, ParticleBorder::reflecting},
                         {ParticleBorder::periodic, ParticleBorder::periodic}}}};
}

TEST(Division, gives_every_cell_to_one_part) {
  for (const Place<2> parts : {Place<2>{1, 1}, Place<2>{3, 2}, Place<2>{7, 5}, Place<2>{4, 1}}) {
    const Division<2> division{{7, 5}, parts};
    std::int64_t cells = 0;
    for (std::int32_t part = 0; part < division.count(); ++part) {
      EXPECT_EQ(division.part(division.place(part)), part);
      EXPECT_FALSE(division.box(part).is_empty());
      cells += division.box(part).count();
      for_each_place(division.box(part), [&](const Place<2>& cell) { EXPECT_EQ(division.part_of_cell(cell), part); });
    }
    EXPECT_EQ(cells, 35);
  }
}

TEST(Division, keeps_its_planes_when_cut_again) {
  const Division<2> coarse{{23, 17}, {3, 2}};
  const Division<2> fine{{23, 17}, {12, 6}};
  for (std::int32_t p = 0; p <= 3; ++p) {
    EXPECT_EQ(coarse.cut(0, p), fine.cut(0, 4 * p));
  }
}

TEST(Division, refuses_more_parts_than_cells) {
  EXPECT_THROW((Division<2>{{3, 3}, {4, 1}}), plait::Error);
  EXPECT_THROW((void)best_parts<2>({3, 3}, 7), plait::Error);
  EXPECT_EQ((best_parts<2>({64, 64}, 4)), (Place<2>{2, 2}));
  EXPECT_EQ((best_parts<2>({64, 2}, 7)), (Place<2>{7, 1}));
  EXPECT_EQ((best_parts<3>({8, 8, 8}, 8)), (Place<3>{2, 2, 2}));
}

TEST(Grid, refuses_borders_that_contradict_each_other) {
  Grid<2> grid = box_with_walls_in_x(4, 4);
  EXPECT_NO_THROW(grid.check());
  grid.particles[0][0] = ParticleBorder::periodic;
  EXPECT_THROW(grid.check(), plait::Error);
  grid = box_with_walls_in_x(4, 0);
  EXPECT_THROW(grid.check(), plait::Error);
}

/// Every node of a region once, with the owner's node that its image is.
void expect_covered(const Box<2>& region, const Grid<2>& grid, const Division<2>& division, Beyond beyond) {
  std::map<Place<2>, int> seen;
  for (const Piece<2>& piece : pieces_of(region, grid, division, beyond)) {
    const Box<2> owned = grid.nodes(division.box(piece.part));
    for_each_place(piece.region, [&](const Place<2>& node) {
      ++seen[node];
      const Place<2> source{node[0] + piece.shift[0], node[1] + piece.shift[1]};
      EXPECT_TRUE(owned.contains(source));
      EXPECT_EQ((source[1] - node[1]) % grid.cells[1], 0);
      EXPECT_EQ(source[0], std::clamp(node[0], 0, grid.cells[0]));
    });
  }
  std::int64_t expected = 0;
  for_each_place(region, [&](const Place<2>& node) {
    const bool is_there = beyond == Beyond::nearest || (node[0] >= 0 && node[0] <= grid.cells[0]);
    expected += is_there ? 1 : 0;
    EXPECT_EQ(seen.count(node), is_there ? 1U : 0U);
  });
  EXPECT_EQ(static_cast<std::int64_t>(seen.size()), expected);
  for (const auto& [node, times] : seen) {
    EXPECT_EQ(times, 1);
  }
}

TEST(Pieces, cover_a_region_once_even_when_it_is_larger_than_the_grid) {
  const Grid<2> grid = box_with_walls_in_x(6, 4);
  const Division<2> division{grid.cells, {3, 2}};
  for (const Beyond beyond : {Beyond::nothing, Beyond::nearest}) {
    expect_covered({{-2, -3}, {9, 8}}, grid, division, beyond);
    expect_covered({{2, 1}, {3, 2}}, grid, division, beyond);
    expect_covered({{-3, 0}, {-1, 1}}, grid, division, beyond);
    expect_covered({{-1, -9}, {8, 13}}, grid, division, beyond);
  }
}

TEST(GuardExchange, fills_the_nodes_around_a_block_with_their_images) {
  const Grid<2> grid = box_with_walls_in_x(5, 3);
  const Division<2> whole{grid.cells, {1, 1}};
  OneRank one;
  GuardExchange<2> fill{grid, whole, 0, 1};
  Tile<2, double> tile{grid.node_box().grown(1, 1), -1};
  for_each_place(grid.node_box(), [&](const Place<2>& node) { tile[node] = node[0] + 10 * node[1]; });
  fill(tile, one);
  EXPECT_EQ((tile[{2, -1}]), 22);
  EXPECT_EQ((tile[{5, 3}]), 5);
  EXPECT_EQ((tile[{-1, 1}]), -1) << "beyond a wall nothing changes";
}

}  // namespace
}  // namespace grid_test
