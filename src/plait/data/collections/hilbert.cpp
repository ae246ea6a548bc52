// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/hilbert.hpp"

#include <algorithm>
#include <array>

#include "plait/base/error.hpp"

namespace plait::data {

std::uint64_t hilbert_place(std::span<const std::uint32_t> cell, unsigned bits) {
  expect(!cell.empty() && cell.size() <= 3, "one to three dimensions");
  expect(bits >= 1 && bits <= 32 && bits * cell.size() <= 64, "the place fits 64 bits");
  std::array<std::uint32_t, 3> storage{};
  std::ranges::copy(cell, storage.begin());
  const std::span axes = std::span{storage}.first(cell.size());

  // From the coarsest halving of the cube to the finest: undo how the curve is turned and mirrored in each half.
  for (unsigned level = bits; level-- > 1;) {
    const std::uint32_t bit = 1U << level;
    const std::uint32_t below = bit - 1;
    for (std::uint32_t& axis : axes) {
      if ((axis & bit) != 0) {
        axes[0] ^= below;  // mirrored
      } else {
        const std::uint32_t differ = (axes[0] ^ axis) & below;
        axes[0] ^= differ;  // turned: the two axes change places
        axis ^= differ;
      }
    }
  }
  // What is left is a Gray code, spread over the axes.
  for (std::size_t i = 1; i < axes.size(); ++i) {
    axes[i] ^= axes[i - 1];
  }
  std::uint32_t flips = 0;
  for (unsigned level = bits; level-- > 1;) {
    if ((axes.back() & (1U << level)) != 0) {
      flips ^= (1U << level) - 1;
    }
  }
  std::uint64_t place = 0;
  for (unsigned level = bits; level-- > 0;) {
    for (const std::uint32_t axis : axes) {
      place = place << 1U | (((axis ^ flips) >> level) & 1U);
    }
  }
  return place;
}

}  // namespace plait::data
