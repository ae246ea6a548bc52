// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/shape.hpp"

#include <cstdint>

#include <gtest/gtest.h>

namespace plait::data::shape_test {
namespace {

TEST(Shape, numbers_its_elements_with_x_fastest_and_back) {
  const Shape shape{4, 3, 2};
  EXPECT_EQ(shape.count(), 24U);
  EXPECT_EQ(shape.id({.x = 1, .y = 2, .z = 1}), ElementId{12 + 8 + 1});
  for (std::uint64_t id = 0; id < shape.count(); ++id) {
    EXPECT_EQ(shape.id(shape.index(ElementId{id})), ElementId{id});
  }
  EXPECT_EQ((Shape{4, 3}.dimensions()), 2);
  EXPECT_FALSE(Shape{}.is_regular());
  EXPECT_EQ(Shape{}.count(), 0U);
}

TEST(Shape, finds_neighbours_around_periodic_ends_only) {
  const Shape shape{4, 3};
  const ElementId corner = shape.id({.x = 0, .y = 2});
  EXPECT_EQ(shape.neighbour(corner, {-1, 1, 0}, {true, true, false}), shape.id({.x = 3, .y = 0}));
  EXPECT_EQ(shape.neighbour(corner, {-9, 0, 0}, {true, false, false}), shape.id({.x = 3, .y = 2}));
  EXPECT_EQ(shape.neighbour(corner, {-1, 0, 0}, {false, true, false}), std::nullopt);
  EXPECT_EQ(shape.neighbour(corner, {0, 0, 1}, {true, true, false}), std::nullopt);
}

}  // namespace
}  // namespace plait::data::shape_test
