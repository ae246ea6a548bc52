// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "alltoall/pattern.hpp"

namespace alltoall_pattern_test {
namespace {

using alltoall::Block;
using alltoall::find_wrong;

constexpr Block block{.source = 1, .destination = 2, .iteration = 7};

std::vector<std::byte> filled(const Block& which) {
  std::vector<std::byte> data(512);
  alltoall::fill(data, which);
  return data;
}

TEST(Pattern, is_right_as_filled) {
  EXPECT_FALSE(find_wrong(filled(block), block));
}

TEST(Pattern, distinguishes_source_destination_and_iteration) {
  const std::vector<std::byte> data = filled(block);
  EXPECT_TRUE(find_wrong(data, {.source = 2, .destination = 2, .iteration = 7}));
  EXPECT_TRUE(find_wrong(data, {.source = 1, .destination = 1, .iteration = 7}));
  EXPECT_TRUE(find_wrong(data, {.source = 2, .destination = 1, .iteration = 7}));
  EXPECT_TRUE(find_wrong(data, {.source = 1, .destination = 2, .iteration = 6}));
}

TEST(Pattern, names_the_first_wrong_element) {
  std::vector<std::byte> data = filled(block);
  data[8 * 5 + 3] ^= std::byte{1};
  data[8 * 9] ^= std::byte{1};
  const auto wrong = find_wrong(data, block);
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->find("element 5 of the block from rank 1 to rank 2"), std::string::npos) << *wrong;
}

TEST(Pattern, finds_elements_that_have_changed_places) {
  std::vector<std::byte> data = filled(block);
  std::swap_ranges(data.begin(), data.begin() + 8, data.begin() + 8);
  EXPECT_TRUE(find_wrong(data, block));
}

TEST(Pattern, repeats_no_element_among_neighbouring_blocks) {
  std::set<std::uint64_t> seen;
  std::size_t count = 0;
  for (std::uint32_t source = 0; source < 4; ++source) {
    for (std::uint32_t destination = 0; destination < 4; ++destination) {
      for (std::uint64_t iteration = 0; iteration < 4; ++iteration) {
        const std::vector<std::byte> data = filled({source, destination, iteration});
        for (std::size_t at = 0; at < data.size(); at += sizeof(std::uint64_t), ++count) {
          std::uint64_t element = 0;
          std::memcpy(&element, data.data() + at, sizeof element);
          seen.insert(element);
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), count);
}

}  // namespace
}  // namespace alltoall_pattern_test
