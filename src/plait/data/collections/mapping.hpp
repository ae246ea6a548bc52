// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "plait/base/id.hpp"
#include "plait/data/collections/element.hpp"
#include "plait/data/collections/shape.hpp"

namespace plait::data {

/// Where an element is at first, and the rank that knows its place later: its home. Pure: the same answer on every
/// rank, always. Threads: any.
using Mapping = std::function<Rank(ElementId)>;

/// Neighbouring ids together, as many on one rank as on another, but for one. Ranks beyond the elements get none.
/// Expects: a regular shape.
[[nodiscard]] Mapping block(const Shape& shape, std::uint32_t rank_count);
/// Neighbours in the grid together: stretches of the Hilbert curve through it (hilbert.hpp), with as many elements on
/// one rank as on another, but for one. In one dimension the same as `block`.
///
/// Expects: a regular shape; of three dimensions, extents of at most 2^21. Keeps a number for each rank. Cost: some 10
/// ns for each bit of the largest extent; to make it, as much for each rank times 2^dimensions and bits.
[[nodiscard]] Mapping curve(const Shape& shape, std::uint32_t rank_count);
/// One rank after the other.
[[nodiscard]] Mapping cyclic(std::uint32_t rank_count);
/// Any ids, spread evenly and without order: the homes of irregular collections.
[[nodiscard]] Mapping scattered(std::uint32_t rank_count);

}  // namespace plait::data
