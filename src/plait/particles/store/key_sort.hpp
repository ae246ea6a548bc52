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

  /// Bodies with equal keys keep their order, so that a step does not depend on the pieces.
  friend constexpr auto operator<=>(const KeyedIndex&, const KeyedIndex&) = default;
};

/// Sorts `items`, whose indices must ascend where keys are equal. `scratch` must be as long. Cost: O(n).
void sort_keys(std::span<KeyedIndex> items, std::span<KeyedIndex> scratch);

/// A sort in pieces that may run as tasks: all of `sort_chunk`, then `split`, then all of `merge_piece`.
///
/// Threads: calls of one phase may run at the same time, for different pieces.
class PiecewiseSort {
 public:
  /// Borrows `items`, in which the result appears, and `scratch` of the same length until the last call.
  PiecewiseSort(std::span<KeyedIndex> items, std::span<KeyedIndex> scratch, std::uint32_t pieces);

  [[nodiscard]] std::uint32_t pieces() const noexcept { return pieces_; }
  void sort_chunk(std::uint32_t chunk);
  /// Chooses where to cut. Cost: O(pieces^2 log n).
  void split();
  /// Leaves the piece's part of the result in `scratch`; `copy_piece` copies it to `items`.
  void merge_piece(std::uint32_t piece);
  /// After all of `merge_piece`.
  void copy_piece(std::uint32_t piece);

 private:
  [[nodiscard]] std::size_t chunk_begin(std::uint32_t chunk) const;

  std::span<KeyedIndex> items_;
  std::span<KeyedIndex> scratch_;
  std::uint32_t pieces_;
  std::vector<std::size_t> cuts_;    ///< [piece][chunk]: where the piece's part of the chunk begins.
  std::vector<std::size_t> begins_;  ///< [piece]: where its result begins.
};

}  // namespace plait::particles
