// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "plait/data/collections/element.hpp"

namespace plait::data {

/// The index of a point in a grid of up to three dimensions; unused ones are 0.
struct Index {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t z = 0;

  friend constexpr bool operator==(const Index&, const Index&) = default;
};

/// The initial elements of a collection: a grid, numbered with x fastest, or none if the program creates elements with
/// ids of its own.
class Shape {
 public:
  /// Creates an irregular shape: any ids, no initial elements.
  constexpr Shape() = default;
  /// Creates a grid. Expects: no extent is 0, and their product fits 63 bits.
  explicit Shape(std::uint32_t x);
  Shape(std::uint32_t x, std::uint32_t y);
  Shape(std::uint32_t x, std::uint32_t y, std::uint32_t z);

  [[nodiscard]] constexpr bool is_regular() const noexcept { return dimensions_ > 0; }
  [[nodiscard]] constexpr int dimensions() const noexcept { return dimensions_; }
  [[nodiscard]] constexpr const std::array<std::uint32_t, 3>& extents() const noexcept { return extents_; }
  /// The number of initial elements.
  [[nodiscard]] std::uint64_t count() const noexcept;

  /// Expect: a regular shape that contains the argument.
  [[nodiscard]] ElementId id(const Index& index) const;
  [[nodiscard]] Index index(ElementId id) const;

  /// Returns the element `step` places on, periodically where `is_periodic`; nothing beyond the boundary.
  [[nodiscard]] std::optional<ElementId> neighbour(ElementId id,
                                                   const std::array<int, 3>& step,
                                                   const std::array<bool, 3>& is_periodic) const;

 private:
  Shape(int dimensions, const std::array<std::uint32_t, 3>& extents);

  int dimensions_ = 0;
  std::array<std::uint32_t, 3> extents_{0, 0, 0};
};

}  // namespace plait::data
