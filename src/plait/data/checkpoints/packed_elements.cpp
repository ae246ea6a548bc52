// SPDX-License-Identifier: Apache-2.0
#include "plait/data/checkpoints/packed_elements.hpp"

#include <limits>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::data {

std::span<const std::byte> PackedElements::element(std::size_t place) const {
  expect(place < count(), "the element is in this pack");
  return std::span{bytes}.subspan(offsets[place], offsets[place + 1] - offsets[place]);
}

void PackedElements::add(ElementId id, std::span<const std::byte> element) {
  ids.push_back(id);
  bytes.insert(bytes.end(), element.begin(), element.end());
  offsets.push_back(bytes.size());
}

void PackedElements::append(const PackedElements& other) {
  const std::uint64_t before = bytes.size();
  ids.insert(ids.end(), other.ids.begin(), other.ids.end());
  bytes.insert(bytes.end(), other.bytes.begin(), other.bytes.end());
  for (std::size_t place = 1; place < other.offsets.size(); ++place) {
    offsets.push_back(before + other.offsets[place]);
  }
}

Shape shape_of(std::span<const std::uint64_t> extents) {
  std::uint64_t room = std::numeric_limits<std::int64_t>::max();  // of elements, as of a Shape
  for (const std::uint64_t extent : extents) {
    if (extents.size() > 3 || extent == 0 || extent > std::numeric_limits<std::uint32_t>::max() || room / extent == 0) {
      throw Error{
          ErrorCode::bad_input,
          fmt::format("a collection cannot have {} dimensions, one of them of {} elements", extents.size(), extent)};
    }
    room /= extent;
  }
  const auto extent = [&](std::size_t dimension) { return static_cast<std::uint32_t>(extents[dimension]); };
  switch (extents.size()) {
    case 0:
      return {};
    case 1:
      return Shape{extent(0)};
    case 2:
      return Shape{extent(0), extent(1)};
    default:
      return Shape{extent(0), extent(1), extent(2)};
  }
}

std::vector<std::uint64_t> extents_of(const Shape& shape) {
  return {shape.extents().begin(), shape.extents().begin() + shape.dimensions()};
}

}  // namespace plait::data
