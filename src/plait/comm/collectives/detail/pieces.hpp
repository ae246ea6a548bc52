// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace plait::comm::detail {

// Long data as a stream of messages: pieces of exactly `piece_bytes`, then a shorter one, perhaps empty, which tells
// the receiver that it was the last, even when the two sides mean different sizes.

[[nodiscard]] constexpr std::size_t piece_count(std::size_t bytes, std::size_t piece_bytes) noexcept {
  return bytes / piece_bytes + 1;
}

template <class Byte>
[[nodiscard]] constexpr std::span<Byte> piece_of(std::span<Byte> data, std::size_t piece, std::size_t piece_bytes) {
  const std::size_t offset = piece * piece_bytes;
  return data.subspan(offset, std::min(piece_bytes, data.size() - offset));
}

}  // namespace plait::comm::detail
