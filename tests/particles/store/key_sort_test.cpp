// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/store/key_sort.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace plait::particles::key_sort_test {
namespace {

std::vector<KeyedIndex> items_with_keys_below(MortonKey limit, std::uint32_t n) {
  std::mt19937_64 random{n};
  std::vector<KeyedIndex> items(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    items[i] = {random() % limit, i};
  }
  return items;
}

std::vector<KeyedIndex> sorted(std::vector<KeyedIndex> items) {
  std::ranges::sort(items);
  return items;
}

TEST(KeySort, sorts_any_number_of_any_keys_and_keeps_the_order_of_equal_ones) {
  for (const std::uint32_t n : {0U, 1U, 2U, 100U, 511U, 512U, 5000U, 200000U}) {
    for (const MortonKey limit : {MortonKey{1}, MortonKey{3}, MortonKey{1} << 20, MortonKey{1} << 63}) {
      std::vector<KeyedIndex> items = items_with_keys_below(limit, n);
      const std::vector<KeyedIndex> expected = sorted(items);
      std::vector<KeyedIndex> scratch(n);
      sort_keys(items, scratch);
      EXPECT_EQ(items, expected) << n << " keys below " << limit;
    }
  }
}

TEST(KeySort, in_pieces_gives_the_same) {
  for (const std::uint32_t n : {0U, 1U, 7U, 10000U, 100001U}) {
    for (const std::uint32_t pieces : {1U, 2U, 7U, 16U}) {
      for (const MortonKey limit : {MortonKey{5}, MortonKey{1} << 63}) {
        std::vector<KeyedIndex> items = items_with_keys_below(limit, n);
        const std::vector<KeyedIndex> expected = sorted(items);
        std::vector<KeyedIndex> scratch(n);
        PiecewiseSort sort{items, scratch, pieces};
        for (std::uint32_t i = pieces; i-- > 0;) {
          sort.sort_chunk(i);
        }
        sort.split();
        for (std::uint32_t i = pieces; i-- > 0;) {
          sort.merge_piece(i);
        }
        EXPECT_EQ(scratch, expected) << n << " in " << pieces;
      }
    }
  }
}

}  // namespace
}  // namespace plait::particles::key_sort_test
