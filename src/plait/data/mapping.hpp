// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "plait/base/id.hpp"
#include "plait/data/element.hpp"
#include "plait/data/shape.hpp"

namespace plait::data {

/// Where an element is at first, and who is asked for it later: its home. Pure: the same answer on every rank, always.
/// Threads: any.
using Mapping = std::function<Rank(ElementId)>;

/// Neighbouring ids together, as many on one rank as on another, but for one. Ranks beyond the elements get none.
/// Expects: a regular shape.
[[nodiscard]] Mapping block(const Shape& shape, std::uint32_t rank_count);
/// One rank after the other.
[[nodiscard]] Mapping cyclic(std::uint32_t rank_count);
/// Any ids, spread evenly and without order: the homes of irregular collections.
[[nodiscard]] Mapping scattered(std::uint32_t rank_count);

}  // namespace plait::data
