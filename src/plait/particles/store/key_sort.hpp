// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/particles/store/morton.hpp"

namespace plait::particles {

/// A body's key and its index.
struct KeyedIndex {
  MortonKey key = 0;
  std::uint32_t index = 0;

  /// Ties are broken by index, so that the order does not depend on the number of pieces.
  friend constexpr auto operator<=>(const KeyedIndex&, const KeyedIndex&) = default;
};

/// Sorts `items`. Expects: among equal keys, indices ascend; `scratch` has the same length. Cost: O(n).
void sort_keys(std::span<KeyedIndex> items, std::span<KeyedIndex> scratch);

/// A parallel sort in three phases: `sort_chunk` for all pieces, `split`, `merge_piece` for all.
///
/// Threads: calls of one phase may run concurrently, for different pieces.
class PiecewiseSort {
 public:
  /// Sorts `items` into `scratch`; overwrites `items`. Borrows both, which have equal lengths, until the last call.
  PiecewiseSort(std::span<KeyedIndex> items, std::span<KeyedIndex> scratch, std::uint32_t pieces);

  void sort_chunk(std::uint32_t chunk);
  /// Chooses the splitters. Cost: O(pieces^2 log n).
  void split();
  void merge_piece(std::uint32_t piece);

 private:
  [[nodiscard]] std::size_t chunk_begin(std::uint32_t chunk) const;

  std::span<KeyedIndex> items_;
  std::span<KeyedIndex> scratch_;
  std::uint32_t pieces_;
  std::vector<std::size_t> cuts_;    ///< [piece][chunk]: the start of the piece in the chunk.
  std::vector<std::size_t> begins_;  ///< [piece]: the start of the piece in the result.
};

}  // namespace plait::particles
