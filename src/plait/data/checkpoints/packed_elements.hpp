// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/data/collections/element.hpp"
#include "plait/data/collections/shape.hpp"

namespace plait::data {

/// Elements of one collection as bytes, for files and for copies on other ranks. The bytes of an element are those of
/// `serialize.hpp` or of an accessor.
struct PackedElements {
  std::string collection;  ///< Its name, unique in the program.
  std::string type;        ///< Of an element.
  Shape shape;
  std::vector<ElementId> ids;
  std::vector<std::uint64_t> offsets{0};  ///< The begin of each element in `bytes`; last, the end.
  Bytes bytes;                            ///< Of all elements, contiguous.

  [[nodiscard]] std::size_t count() const noexcept { return ids.size(); }
  [[nodiscard]] std::span<const std::byte> element(std::size_t place) const;
  /// Copies the bytes.
  void add(ElementId id, std::span<const std::byte> element);
  /// Appends the elements of `other`, which is of the same collection.
  void append(const PackedElements& other);

  template <class Archive>
  void serialize(Archive& archive) {
    archive(collection, type, shape, ids, offsets, bytes);
  }
};

/// The shape with these extents, one a dimension; none for an irregular shape. Throws: `Error` with `bad_input` for
/// more than three, or extents that no shape can have.
[[nodiscard]] Shape shape_of(std::span<const std::uint64_t> extents);
/// The extents of a shape; none for an irregular one.
[[nodiscard]] std::vector<std::uint64_t> extents_of(const Shape& shape);

}  // namespace plait::data
