// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "plait/data/collections/element.hpp"

namespace plait::data {

/// A place in a grid of up to three dimensions; those that are not there are 0.
struct Index {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t z = 0;

  friend constexpr bool operator==(const Index&, const Index&) = default;
};

/// Which elements a collection has at first: a grid, whose elements are numbered with x running fastest, or none, when
/// the program makes elements with ids of its own.
class Shape {
 public:
  /// Irregular: any ids, none at first.
  constexpr Shape() = default;
  /// Expects: no extent is 0, and their product fits 63 bits.
  explicit Shape(std::uint32_t x);
  Shape(std::uint32_t x, std::uint32_t y);
  Shape(std::uint32_t x, std::uint32_t y, std::uint32_t z);

  [[nodiscard]] constexpr bool is_regular() const noexcept { return dimensions_ > 0; }
  [[nodiscard]] constexpr int dimensions() const noexcept { return dimensions_; }
  [[nodiscard]] constexpr const std::array<std::uint32_t, 3>& extents() const noexcept { return extents_; }
  /// Elements at first.
  [[nodiscard]] std::uint64_t count() const noexcept;

  /// Expect: regular, and inside.
  [[nodiscard]] ElementId id(const Index& index) const;
  [[nodiscard]] Index index(ElementId id) const;

  /// The element `dx`, `dy`, `dz` places on, around the end where `is_periodic`; nothing beyond the border.
  [[nodiscard]] std::optional<ElementId> neighbour(ElementId id,
                                                   const std::array<int, 3>& step,
                                                   const std::array<bool, 3>& is_periodic) const;

 private:
  Shape(int dimensions, const std::array<std::uint32_t, 3>& extents);

  int dimensions_ = 0;
  std::array<std::uint32_t, 3> extents_{0, 0, 0};
};

}  // namespace plait::data
