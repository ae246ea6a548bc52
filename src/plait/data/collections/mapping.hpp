// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "plait/base/id.hpp"
#include "plait/data/collections/element.hpp"
#include "plait/data/collections/shape.hpp"

namespace plait::data {

/// Returns the home of an element: the rank where it is created, and which knows its location later. Must be pure, and
/// the same on every rank. Threads: any.
using Mapping = std::function<Rank(ElementId)>;

/// Gives each rank a range of ids, of equal length up to one. Expects: a regular shape.
[[nodiscard]] Mapping block(const Shape& shape, std::uint32_t rank_count);
/// Gives each rank a segment of the Hilbert curve through the grid, of equal length up to one. In one dimension as
/// `block`.
///
/// Expects: a regular shape; in three dimensions, extents of at most 2^21. Stores a number for each rank. Cost: some 10
/// ns for each bit of the largest extent; at creation, this times ranks, bits and 2^dimensions.
[[nodiscard]] Mapping curve(const Shape& shape, std::uint32_t rank_count);
/// Deals the ids out one by one.
[[nodiscard]] Mapping cyclic(std::uint32_t rank_count);
/// Spreads any ids evenly, by a hash. The default of irregular collections.
[[nodiscard]] Mapping scattered(std::uint32_t rank_count);

/// Returns the place of a cell on the Hilbert curve through a square or cube of 2^bits cells a side, from 0. Successive
/// cells of the curve are neighbours in space.
///
/// `cell`: one to three coordinates, each below 2^bits. Expects: at most 64 bits for all coordinates. Cost: some 10 ns
/// a bit. Source: Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707 (2004).
[[nodiscard]] std::uint64_t hilbert_place(std::span<const std::uint32_t> cell, unsigned bits);

}  // namespace plait::data
