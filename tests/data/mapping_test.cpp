// SPDX-License-Identifier: Apache-2.0
#include "plait/data/mapping.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace plait::data {
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

TEST(Mapping, deals_out_cyclically_and_scatters_evenly) {
  EXPECT_EQ(cyclic(3)(ElementId{7}), Rank{1});
  for (const std::uint64_t count : counts(scattered(8), 8000, 8)) {
    EXPECT_NEAR(static_cast<double>(count), 1000, 150);
  }
}

}  // namespace
}  // namespace plait::data
