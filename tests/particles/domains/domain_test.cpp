// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/domains/domain.hpp"

#include <array>
#include <limits>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::particles::domain_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(DomainGrid, is_as_near_a_cube_as_ranks_have_divisors) {
  EXPECT_EQ(cubic_grid(1), (DomainGrid{1, 1, 1}));
  EXPECT_EQ(cubic_grid(2), (DomainGrid{2, 1, 1}));
  EXPECT_EQ(cubic_grid(7), (DomainGrid{7, 1, 1}));
  EXPECT_EQ(cubic_grid(12), (DomainGrid{3, 2, 2}));
  EXPECT_EQ(cubic_grid(64), (DomainGrid{4, 4, 4}));
  EXPECT_EQ(cubic_grid(1024), (DomainGrid{16, 8, 8}));
  EXPECT_EQ(square_grid(1), (DomainGrid{1, 1, 1}));
  EXPECT_EQ(square_grid(7), (DomainGrid{7, 1, 1}));
  EXPECT_EQ(square_grid(12), (DomainGrid{4, 3, 1}));
  EXPECT_EQ(square_grid(64), (DomainGrid{8, 8, 1}));
  EXPECT_EQ(make_grid(12, 2, 1), (DomainGrid{6, 2, 1}));
  EXPECT_THROW((void)make_grid(12, 5, 1), Error);
  EXPECT_THROW((void)make_grid(12, 0, 1), Error);
}

TEST(DomainGrid, numbers_the_ranks_of_a_column_first) {
  const DomainGrid grid{3, 2, 2};
  for (std::uint32_t rank = 0; rank < grid.ranks(); ++rank) {
    EXPECT_EQ(grid.rank_of(grid.parts_of(Rank{rank})), Rank{rank});
  }
  EXPECT_EQ(grid.parts_of(Rank{7}), (std::array<std::uint32_t, 3>{1, 1, 1}));
}

/// Slabs at 10, columns at 1 and 2, domains at 0.5 and 0.6; all as seen from the first rank.
constexpr std::array<double, 7> cuts{10, 1, 2, 0.5, 0.6, 0.7, 0.8};

TEST(Domain, sends_what_is_elsewhere_along_the_first_axis_that_is_wrong) {
  const DomainGrid grid{2, 2, 2};
  const Domain domain{grid, Rank{0}, cuts};
  EXPECT_FALSE(domain.hop({9, 0, 0}));
  EXPECT_EQ(domain.hop({10, 5, 5}), (Hop{0, 1})) << "a cut belongs to the part above";
  EXPECT_EQ(domain.hop({-1e300, 1.5, 5}), (Hop{1, 1}));
  EXPECT_EQ(domain.hop({0, 0, 0.5}), (Hop{2, 1}));
  EXPECT_EQ(domain.rank_of({0, 1}), Rank{4});
  EXPECT_EQ(domain.rank_of({2, 1}), Rank{1});
  EXPECT_EQ(domain.box().low, (Vector{-infinity, -infinity, -infinity}));
  EXPECT_EQ(domain.box().high, (Vector{10, 1, 0.5}));
}

TEST(Domain, is_made_again_from_the_cuts_of_all) {
  const DomainGrid grid{2, 2, 2};
  std::vector<Box> boxes;
  for (std::uint32_t rank = 0; rank < grid.ranks(); ++rank) {
    boxes.push_back(Domain{grid, Rank{rank}, cuts}.box());
  }
  EXPECT_EQ(all_cuts(grid, boxes), (std::vector<double>(cuts.begin(), cuts.end())));
}

TEST(Domain, refuses_cuts_that_do_not_fit) {
  const DomainGrid grid{2, 2, 2};
  std::array<double, 7> bad = cuts;
  bad[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW((Domain{grid, Rank{0}, bad}), Error);
  EXPECT_THROW((Domain{grid, Rank{0}, std::span{cuts}.first(6)}), Error);
  EXPECT_THROW((Domain{{4, 1, 1}, Rank{0}, std::array<double, 3>{1, 3, 2}}), Error);
  EXPECT_THROW((Domain{grid, Rank{8}}), Error);
}

TEST(Domain, is_all_of_the_space_for_the_first_rank_until_it_is_cut) {
  const DomainGrid grid{2, 2, 1};
  EXPECT_FALSE((Domain{grid, Rank{0}}.is_cut()));
  EXPECT_FALSE((Domain{grid, Rank{0}}.hop({1e300, 2, 3})));
  EXPECT_EQ((Domain{grid, Rank{3}}.hop({1e300, 2, 3})), (Hop{0, 0}));
}

}  // namespace
}  // namespace plait::particles::domain_test
