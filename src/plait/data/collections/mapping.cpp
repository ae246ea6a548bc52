// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/mapping.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "plait/base/error.hpp"

namespace plait::data {

namespace {

using Cell = std::array<std::uint32_t, 3>;

/// The Hilbert curve through the smallest cube of 2^bits cells a side around a grid.
class CurveAround {
 public:
  explicit CurveAround(const Shape& shape)
      : extents_{shape.extents()},
        dimensions_{static_cast<std::size_t>(shape.dimensions())},
        bits_{std::max(1U, static_cast<unsigned>(std::bit_width(*std::ranges::max_element(extents_) - 1)))} {}

  [[nodiscard]] std::uint64_t place(const Cell& cell) const { return place(cell, bits_); }

  /// The place of the cell that comes after `before` others of the grid. Halves the cube until the cell is alone: each
  /// part lies together on the curve, in the order of the same curve through a coarser cube.
  [[nodiscard]] std::uint64_t place_after(std::uint64_t before) const {
    Cell corner{};
    for (unsigned level = 1; level <= bits_; ++level) {
      std::vector<std::pair<std::uint64_t, Cell>> parts;
      for (std::uint32_t part = 0; part < 1U << dimensions_; ++part) {
        Cell cell{};
        for (std::size_t axis = 0; axis < dimensions_; ++axis) {
          cell[axis] = 2 * corner[axis] + (part >> axis & 1U);
        }
        parts.emplace_back(place(cell, level), cell);
      }
      std::ranges::sort(parts);
      for (const auto& [place, cell] : parts) {
        corner = cell;
        const std::uint64_t inside = cells_in(cell, level);
        if (before < inside) {
          break;
        }
        before -= inside;
      }
    }
    return place(corner);
  }

 private:
  [[nodiscard]] std::uint64_t place(const Cell& cell, unsigned bits) const {
    return hilbert_place(std::span{cell}.first(dimensions_), bits);
  }
  /// Of the grid, in a part of the cube that is cut into 2^level parts a side.
  [[nodiscard]] std::uint64_t cells_in(const Cell& part, unsigned level) const {
    const std::uint64_t side = std::uint64_t{1} << (bits_ - level);
    std::uint64_t cells = 1;
    for (std::size_t axis = 0; axis < part.size(); ++axis) {  // those that are not there have one cell
      const std::uint64_t begin = part[axis] * side;
      cells *= begin < extents_[axis] ? std::min(side, extents_[axis] - begin) : 0;
    }
    return cells;
  }

  std::array<std::uint32_t, 3> extents_;
  std::size_t dimensions_;
  unsigned bits_;
};

}  // namespace

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

Mapping curve(const Shape& shape, std::uint32_t rank_count) {
  if (shape.dimensions() == 1) {
    return block(shape, rank_count);
  }
  expect(shape.is_regular(), "only a grid has a curve");
  const CurveAround whole{shape};
  std::vector<std::uint64_t> begins;  // by rank but the first: where its stretch begins
  for (std::uint64_t rank = 1; rank < std::min<std::uint64_t>(rank_count, shape.count()); ++rank) {
    const std::uint64_t share = shape.count() / rank_count;
    begins.push_back(whole.place_after(rank * share + std::min(rank, shape.count() % rank_count)));
  }
  return [shape, whole, begins = std::move(begins)](ElementId id) {
    const Index at = shape.index(id);
    const auto after = std::ranges::upper_bound(begins, whole.place({at.x, at.y, at.z}));
    return Rank{static_cast<std::uint32_t>(after - begins.begin())};
  };
}

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
