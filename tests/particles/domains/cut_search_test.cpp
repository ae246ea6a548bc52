// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/domains/detail/cut_search.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include <gtest/gtest.h>

namespace plait::particles::detail::cut_search_test {
namespace {

struct Found {
  std::vector<double> cuts;
  int rounds = 0;
  bool is_empty = false;
};

/// As ranks do it together: each has a part of the values.
Found search(const CutSearch::Options& options, const std::vector<std::vector<Weighed>>& ranks) {
  std::vector<CutSearch> searches;
  for (const auto& mine : ranks) {
    searches.emplace_back(options, mine);
  }
  Found found;
  while (!searches.front().is_done()) {
    std::vector<double> sums = searches.front().weigh();
    for (std::size_t rank = 1; rank < searches.size(); ++rank) {
      const std::vector<double> theirs = searches[rank].weigh();
      std::ranges::transform(sums, theirs, sums.begin(), std::plus{});
    }
    for (CutSearch& one : searches) {
      one.narrow(sums);
    }
    ++found.rounds;
  }
  found.is_empty = searches.front().is_empty();
  if (!found.is_empty) {
    found.cuts = searches.front().cuts();
    for (const CutSearch& one : searches) {
      EXPECT_EQ(one.cuts(), found.cuts) << "all ranks know the same";
    }
  }
  return found;
}

/// The largest weight of a part, in means.
double largest_part(const std::vector<double>& cuts, const std::vector<std::vector<Weighed>>& ranks) {
  std::vector<double> parts(cuts.size() + 1);
  double total = 0;
  for (const auto& mine : ranks) {
    for (const Weighed& value : mine) {
      parts[static_cast<std::size_t>(std::ranges::upper_bound(cuts, value.place) - cuts.begin())] += value.weight;
      total += value.weight;
    }
  }
  return *std::ranges::max_element(parts) * static_cast<double>(parts.size()) / total;
}

std::vector<std::vector<Weighed>> values(int ranks, int each, const std::function<Weighed(std::mt19937_64&)>& draw) {
  std::mt19937_64 random{7};
  std::vector<std::vector<Weighed>> all(static_cast<std::size_t>(ranks));
  for (auto& mine : all) {
    std::generate_n(std::back_inserter(mine), each, [&] { return draw(random); });
  }
  return all;
}

TEST(CutSearch, cuts_even_values_in_two_or_three_rounds) {
  const auto all = values(5, 2000, [](auto& random) { return Weighed{std::uniform_real_distribution{}(random), 1}; });
  const Found found = search({.parts = 10, .low = 0, .high = 1}, all);
  EXPECT_LE(found.rounds, 3);
  EXPECT_LT(largest_part(found.cuts, all), 1.03);
  EXPECT_TRUE(std::ranges::is_sorted(found.cuts));
}

TEST(CutSearch, needs_fewer_rounds_when_it_knows_where_cuts_were) {
  const auto all =
      values(3, 5000, [](auto& random) { return Weighed{std::pow(std::uniform_real_distribution{}(random), 8), 1}; });
  const CutSearch::Options options{.parts = 8, .low = 0, .high = 1};
  const Found fresh = search(options, all);
  CutSearch::Options again = options;
  again.old = fresh.cuts;
  const Found known = search(again, all);
  EXPECT_LT(known.rounds, fresh.rounds);
  EXPECT_LT(largest_part(fresh.cuts, all), 1.03);
  EXPECT_LT(largest_part(known.cuts, all), 1.03);
}

TEST(CutSearch, goes_by_weight) {
  const auto all = values(2, 4000, [](auto& random) {
    const double place = std::uniform_real_distribution{-1.0, 1.0}(random);
    return Weighed{place, place < 0 ? 1.0 : 9.0};
  });
  const Found found = search({.parts = 2, .low = -1, .high = 1}, all);
  EXPECT_LT(largest_part(found.cuts, all), 1.02);
  EXPECT_NEAR(found.cuts[0], 4.0 / 9, 0.05);
}

TEST(CutSearch, finds_a_cluster_in_a_space_that_one_outlier_makes_wide) {
  auto all = values(2, 4000, [](auto& random) { return Weighed{std::uniform_real_distribution{}(random), 1}; });
  all[1].push_back({1e12, 1});
  const Found found = search({.parts = 4, .low = 0, .high = 1e12}, all);
  EXPECT_LT(largest_part(found.cuts, all), 1.03);
}

TEST(CutSearch, ends_when_all_are_at_one_place) {
  const auto all = values(3, 100, [](auto&) { return Weighed{2.5, 1}; });
  const Found found = search({.parts = 3, .low = 2.5, .high = 2.5}, all);
  EXPECT_EQ(found.rounds, 1);
  for (const double cut : found.cuts) {
    EXPECT_NEAR(cut, 2.5, 1e-12);
  }
  auto with_another = all;
  with_another[0].push_back({-7, 1});
  const Found two_places = search({.parts = 3, .low = -7, .high = 2.5}, with_another);
  EXPECT_LE(two_places.rounds, 16);
  EXPECT_TRUE(std::ranges::is_sorted(two_places.cuts));
}

TEST(CutSearch, ends_without_values_and_without_cuts) {
  EXPECT_TRUE(search({.parts = 3, .low = 0, .high = 1}, {{}, {}}).is_empty);
  EXPECT_EQ(search({.parts = 1, .low = 0, .high = 1}, {{{0.5, 1}}}).rounds, 0);
}

}  // namespace
}  // namespace plait::particles::detail::cut_search_test
