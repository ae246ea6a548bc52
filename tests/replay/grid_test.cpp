// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/grid.hpp"

#include <gtest/gtest.h>

#include "plait/replay/synthetic.hpp"

#include "replay/hand_made.hpp"

namespace plait::replay::grid_test {
namespace {

/// Each rank sends to its neighbours along the sides of a grid, each direction with a tag of its own.
Schedule halo(const std::vector<std::uint32_t>& sizes, bool is_periodic) {
  RankGrid grid;
  for (const std::uint32_t size : sizes) {
    grid.dimensions.push_back({.size = size, .is_periodic = is_periodic});
  }
  HandMade made{grid.rank_count()};
  for (std::uint32_t rank = 0; rank < grid.rank_count(); ++rank) {
    const auto place = grid.place_of(rank);
    std::uint32_t stride = 1;
    for (std::uint64_t i = 0; i < sizes.size(); ++i) {
      const std::uint32_t base = rank - place[i] * stride;
      if (is_periodic || place[i] + 1 < sizes[i]) {
        made.send(rank, base + (place[i] + 1) % sizes[i] * stride, 2 * i, 100);
      }
      if (is_periodic || place[i] > 0) {
        made.send(rank, base + (place[i] + sizes[i] - 1) % sizes[i] * stride, 2 * i + 1, 100);
      }
      stride *= sizes[i];
    }
  }
  return made.get();
}

std::vector<std::uint32_t> sizes_of(const RankGrid& grid) {
  std::vector<std::uint32_t> sizes;
  for (const RankGrid::Dimension& dimension : grid.dimensions) {
    sizes.push_back(dimension.size);
  }
  return sizes;
}

TEST(Grid, is_found_in_the_messages_with_its_sizes_and_ends) {
  for (const bool is_periodic : {false, true}) {
    for (const std::vector<std::uint32_t>& sizes :
         std::vector<std::vector<std::uint32_t>>{{5}, {3, 4}, {4, 3}, {3, 3, 4}, {2}, {6, 5, 3}, {2, 3}}) {
      const RankGrid grid = find_grid(halo(sizes, is_periodic)).value();
      ASSERT_EQ(sizes_of(grid), sizes) << grid.text();
      for (const RankGrid::Dimension& dimension : grid.dimensions) {
        EXPECT_EQ(dimension.is_periodic, is_periodic) << grid.text();
        EXPECT_EQ(dimension.alternates, is_periodic && dimension.size == 2) << grid.text();
      }
    }
  }
}

TEST(Grid, of_all_with_all_has_no_dimensions) {
  EXPECT_TRUE(find_grid(synthetic_schedule("pattern=all-to-all,ranks=6").value()).value().is_all_to_all());
  EXPECT_FALSE(find_grid(halo({3, 3}, true)).value().is_all_to_all());
}

TEST(Grid, of_collectives_has_its_communicators_as_lines) {
  HandMade made{6};
  made.get().communicators = {{1, {0, 1}}, {2, {2, 3}}, {3, {4, 5}}, {4, {0, 2, 4}}, {5, {1, 3, 5}}};
  for (const auto& [communicator, members] : made.get().communicators) {
    for (const std::uint32_t rank : members) {
      made.add(rank, {.action = Action::collective, .collective = Collective::barrier, .communicator = communicator});
    }
  }
  const RankGrid grid = find_grid(made.get()).value();
  EXPECT_EQ(sizes_of(grid), (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(grid.text(), "a periodic grid of 2x3 ranks");
}

TEST(Grid, that_does_not_exist_is_an_error_that_names_the_option) {
  auto found = find_grid(synthetic_schedule("pattern=random,ranks=31,pairs=3000").value());
  ASSERT_FALSE(found);
  EXPECT_NE(std::string{found.error().what()}.find("give --grid"), std::string::npos) << found.error().what();
}

TEST(Grid, as_given_overrides_what_is_found) {
  const Schedule schedule = halo({2}, true);
  EXPECT_FALSE(find_grid(schedule, parse_grid("2:open").value()).value().dimensions[0].is_periodic);
  EXPECT_TRUE(find_grid(schedule, parse_grid("all").value()).value().is_all_to_all());
  EXPECT_FALSE(find_grid(schedule, parse_grid("3x2").value()));
}

TEST(GridText, is_read_or_refused_with_an_example) {
  EXPECT_EQ(parse_grid("4x2x3").value().sizes, (std::vector<std::uint32_t>{4, 2, 3}));
  EXPECT_TRUE(parse_grid("4x2:periodic").value().is_periodic.value());
  for (const char* text : {"", "x", "4x", "0x2", "2x2x2x2", "4:round", "all:open", "-2"}) {
    EXPECT_FALSE(parse_grid(text)) << text;
  }
  EXPECT_NE(std::string{parse_grid("4y2").error().what()}.find("write 4x2"), std::string::npos);
}

TEST(Grid, steps_the_shorter_way_round_a_periodic_dimension) {
  EXPECT_EQ(step_between({.size = 5, .is_periodic = true}, 4, 0), 1);
  EXPECT_EQ(step_between({.size = 5, .is_periodic = true}, 0, 3), -2);
  EXPECT_EQ(step_between({.size = 5}, 4, 0), -4);
}

}  // namespace
}  // namespace plait::replay::grid_test
