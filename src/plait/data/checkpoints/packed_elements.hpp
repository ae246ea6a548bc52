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

/// Elements of one collection as bytes, those of one rank or of several: what is written to files and copied to other
/// ranks. Plain data; the bytes are those of `serialize.hpp` or of an accessor, and are opaque here.
struct PackedElements {
  std::string collection;  ///< Its name, which no other collection of the program has.
  std::string type;        ///< Of an element; others are refused when it is unpacked.
  Shape shape;
  std::vector<ElementId> ids;
  std::vector<std::uint64_t> offsets{0};  ///< Where each element's bytes begin in `bytes`, and, last, where they end.
  Bytes bytes;                            ///< Of all elements, back to back.

  [[nodiscard]] std::size_t count() const noexcept { return ids.size(); }
  [[nodiscard]] std::span<const std::byte> element(std::size_t place) const;
  /// Copies the bytes.
  void add(ElementId id, std::span<const std::byte> element);
  /// Takes what `other`, of the same collection, holds, after what is here.
  void append(const PackedElements& other);

  template <class Archive>
  void serialize(Archive& archive) {
    archive(collection, type, shape, ids, offsets, bytes);
  }
};

/// A shape with these extents; as many dimensions as there are, none for an irregular one.
/// Throws: `Error` with `bad_input` for more than three, or extents that no shape can have.
[[nodiscard]] Shape shape_of(std::span<const std::uint64_t> extents);
/// The opposite.
[[nodiscard]] std::vector<std::uint64_t> extents_of(const Shape& shape);

}  // namespace plait::data
