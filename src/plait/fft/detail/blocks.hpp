// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "plait/fft/detail/lines.hpp"

namespace plait::fft::detail {

/// Offsets of blocks of different lengths, each at the beginning of a cache line.
struct Places {
  explicit Places(std::vector<std::size_t> lengths) : length{std::move(lengths)} {
    for (const std::size_t one : length) {
      offset.push_back(bytes);
      bytes += (one + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
    }
  }

  std::vector<std::size_t> length;  ///< Of each block, in bytes.
  std::vector<std::size_t> offset;  ///< Of each block, in bytes.
  std::size_t bytes = 0;            ///< Of all: whole cache lines.
};

/// Blocks in memory that this object owns.
struct Blocks {
  Places places;
  Memory memory{static_cast<Index>(places.bytes / sizeof(Complex))};

  [[nodiscard]] std::byte* data() const noexcept { return reinterpret_cast<std::byte*>(memory.data()); }
  [[nodiscard]] std::span<std::byte> operator[](std::size_t block) const {
    return {data() + places.offset[block], places.length[block]};
  }
};

}  // namespace plait::fft::detail
