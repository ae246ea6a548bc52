// SPDX-License-Identifier: Apache-2.0
#include "plait/data/mapping.hpp"

#include "plait/base/error.hpp"

namespace plait::data {

Mapping block(const Shape& shape, std::uint32_t rank_count) {
  expect(shape.is_regular(), "only a grid has blocks");
  const std::uint64_t share = shape.count() / rank_count;
  const std::uint64_t one_more = shape.count() % rank_count;  // ranks that have one element more: the first
  return [share, one_more](ElementId id) {
    const std::uint64_t in_larger = one_more * (share + 1);
    const std::uint64_t rank =
        id.value() < in_larger ? id.value() / (share + 1) : one_more + (id.value() - in_larger) / share;
    return Rank{static_cast<std::uint32_t>(rank)};
  };
}

Mapping cyclic(std::uint32_t rank_count) {
  return [rank_count](ElementId id) { return Rank{static_cast<std::uint32_t>(id.value() % rank_count)}; };
}

Mapping scattered(std::uint32_t rank_count) {
  return [rank_count](ElementId id) {
    // The finaliser of splitmix64 (Steele, Lea and Flood, 2014): all bits of the id matter.
    std::uint64_t mixed = id.value() + 0x9e37'79b9'7f4a'7c15U;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58'476d'1ce4'e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d0'49bb'1331'11ebU;
    return Rank{static_cast<std::uint32_t>((mixed ^ (mixed >> 31U)) % rank_count)};
  };
}

}  // namespace plait::data
