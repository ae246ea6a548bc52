// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace plait::python {

/// A NumPy array, whose type has its number of dimensions for the stubs.
template <class Number, std::size_t dimensions>
using Array = nanobind::ndarray<nanobind::numpy, Number, nanobind::ndim<dimensions>>;

/// An array that owns `numbers`. Threads: those that hold the GIL.
template <std::size_t dimensions, class Number>
[[nodiscard]] Array<Number, dimensions> array_of(std::vector<Number>&& numbers,
                                                 std::initializer_list<std::size_t> shape) {
  auto* const owned = new std::vector<Number>{std::move(numbers)};
  const nanobind::capsule owner{owned, [](void* memory) noexcept { delete static_cast<std::vector<Number>*>(memory); }};
  return {owned->data(), shape, owner};
}

/// Arguments: contiguous numbers, and rows of three.
using Numbers = nanobind::ndarray<const double, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using Positions = nanobind::ndarray<const double, nanobind::shape<-1, 3>, nanobind::c_contig, nanobind::device::cpu>;

[[nodiscard]] inline std::span<const double> numbers_of(const Numbers& numbers) {
  return {numbers.data(), numbers.size()};
}
[[nodiscard]] inline std::span<const double> numbers_of(const Positions& positions) {
  return {positions.data(), positions.size()};
}

}  // namespace plait::python
