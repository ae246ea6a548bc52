// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/shape.hpp"

#include <cstddef>

#include "plait/base/error.hpp"

namespace plait::data {

Shape::Shape(std::uint32_t x) : Shape{1, {x, 1, 1}} {}
Shape::Shape(std::uint32_t x, std::uint32_t y) : Shape{2, {x, y, 1}} {}
Shape::Shape(std::uint32_t x, std::uint32_t y, std::uint32_t z) : Shape{3, {x, y, z}} {}

Shape::Shape(int dimensions, const std::array<std::uint32_t, 3>& extents) : dimensions_{dimensions}, extents_{extents} {
  constexpr std::uint64_t most = std::uint64_t{1} << 63U;
  const std::uint64_t plane = std::uint64_t{extents[0]} * extents[1];
  expect(plane > 0 && extents[2] > 0, "every extent of a shape is at least 1");
  expect(extents[2] <= most / plane, "a shape's elements can be counted in 63 bits");
}

std::uint64_t Shape::count() const noexcept {
  return std::uint64_t{extents_[0]} * extents_[1] * extents_[2];
}

ElementId Shape::id(const Index& index) const {
  expect(index.x < extents_[0] && index.y < extents_[1] && index.z < extents_[2], "the index lies in the shape");
  return ElementId{(std::uint64_t{index.z} * extents_[1] + index.y) * extents_[0] + index.x};
}

Index Shape::index(ElementId id) const {
  expect(id.value() < count(), "the element lies in the shape");
  const std::uint64_t row = id.value() / extents_[0];
  return {.x = static_cast<std::uint32_t>(id.value() % extents_[0]),
          .y = static_cast<std::uint32_t>(row % extents_[1]),
          .z = static_cast<std::uint32_t>(row / extents_[1])};
}

std::optional<ElementId> Shape::neighbour(ElementId id,
                                          const std::array<int, 3>& step,
                                          const std::array<bool, 3>& is_periodic) const {
  const Index from = index(id);
  std::array<std::uint32_t, 3> place{from.x, from.y, from.z};
  for (std::size_t axis = 0; axis < place.size(); ++axis) {
    const std::int64_t extent = extents_[axis];
    const std::int64_t moved = std::int64_t{place[axis]} + step[axis];
    if (!is_periodic[axis] && (moved < 0 || moved >= extent)) {
      return std::nullopt;
    }
    place[axis] = static_cast<std::uint32_t>((moved % extent + extent) % extent);
  }
  return this->id({.x = place[0], .y = place[1], .z = place[2]});
}

}  // namespace plait::data
