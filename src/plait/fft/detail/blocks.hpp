// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plait/fft/detail/lines.hpp"

namespace plait::fft::detail {

/// Offsets of blocks of different lengths, each at the beginning of a cache line.
struct Places {
  explicit Places(std::vector<std::size_t> lengths);

  std::vector<std::size_t> length;  ///< Of each block, in bytes.
  std::vector<std::size_t> offset;  ///< Of each block, in bytes.
  std::size_t bytes = 0;            ///< Of all: whole cache lines.
};

/// Blocks in memory of their own.
struct Blocks {
  Places places;
  Memory memory{static_cast<Index>(places.bytes / sizeof(Complex))};

  [[nodiscard]] std::byte* data() const noexcept { return reinterpret_cast<std::byte*>(memory.data()); }
  [[nodiscard]] std::span<std::byte> operator[](std::size_t block) const {
    return {data() + places.offset[block], places.length[block]};
  }
};

}  // namespace plait::fft::detail
