// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "plait/trace/detail/layout.hpp"

namespace plait::trace::detail {

/// Records with one checksum, which is the last of them: a page of the file.
inline constexpr std::size_t block_bytes = 4096;

/// Sums as of J. Fletcher ("An Arithmetic Checksum for Serial Transmissions", IEEE Trans. Commun. 30 (1982) 247), of
/// words of 64 bits and modulo 2^64. Any damage of one word changes `sum`; words in another order change `sum_of_sums`.
struct BlockSums {
  std::uint64_t sum = 0;
  std::uint64_t sum_of_sums = 0;

  friend bool operator==(const BlockSums&, const BlockSums&) = default;
};

/// The sums over whole records. Cost: 1.5 ns each.
[[nodiscard]] inline BlockSums sums_of(std::span<const std::byte> records) noexcept {
  constexpr std::size_t words = record_bytes / sizeof(std::uint64_t);
  BlockSums all;
  // Two words of all records, then the next two: their four sums are in registers, and no sum waits for another.
  for (std::size_t word = 0; word < words; word += 2) {
    std::array<std::uint64_t, 2> sums{};
    std::array<std::uint64_t, 2> sums_of_sums{};
    for (std::size_t at = word * sizeof(std::uint64_t); at < records.size(); at += record_bytes) {
      std::array<std::uint64_t, 2> pair;
      std::memcpy(pair.data(), records.data() + at, sizeof pair);
      sums[0] += pair[0];
      sums_of_sums[0] += sums[0];
      sums[1] += pair[1];
      sums_of_sums[1] += sums[1];
    }
    all.sum += sums[0] + sums[1];
    all.sum_of_sums += words * (sums_of_sums[0] + sums_of_sums[1]) - word * sums[0] - (word + 1) * sums[1];
  }
  return all;
}

/// What checksums show of a block: it has none, fits, or does not.
enum class BlockState : std::uint8_t { unchecked, sound, damaged };

/// The state of a block by its own checksum: its last record, or the record after the last if a thread ended.
[[nodiscard]] inline BlockState own_state(std::span<const std::byte> block) noexcept {
  for (std::size_t at = 0; at + record_bytes <= block.size(); at += record_bytes) {
    if (block[at] == static_cast<std::byte>(Kind::block_checksum)) {
      BlockSums stored;
      std::memcpy(&stored, block.data() + at + 8, sizeof stored);
      return sums_of(block.first(at)) == stored ? BlockState::sound : BlockState::damaged;
    }
  }
  return BlockState::unchecked;
}

/// Whether a thread has filled the block, so that it must have a checksum.
[[nodiscard]] inline bool is_filled(std::span<const std::byte> block) noexcept {
  return block.size() == block_bytes &&
         std::ranges::any_of(block.last(record_bytes), [](std::byte byte) { return byte != std::byte{0}; });
}

/// The state of each block of a chunk. Where one has a checksum that fits, all before it had one, and all that are
/// filled. In a file with checksums (`is_checked`) it need not fit. Cost: a pass over the chunk.
[[nodiscard]] inline std::vector<BlockState> block_states(std::span<const std::byte> chunk, bool is_checked) {
  const auto block = [&](std::size_t number) {
    const auto rest = chunk.subspan(number * block_bytes);
    return rest.first(std::min(block_bytes, rest.size()));
  };
  std::vector<BlockState> states((chunk.size() + block_bytes - 1) / block_bytes);
  std::size_t checked_end = 0;
  for (std::size_t number = 0; number < states.size(); ++number) {
    states[number] = own_state(block(number));
    const bool counts = states[number] == BlockState::sound || (is_checked && states[number] == BlockState::damaged);
    checked_end = counts ? number + 1 : checked_end;
  }
  for (std::size_t number = 0; checked_end > 0 && number < states.size(); ++number) {
    if (states[number] == BlockState::unchecked && (number < checked_end || is_filled(block(number)))) {
      states[number] = BlockState::damaged;
    }
  }
  return states;
}

}  // namespace plait::trace::detail
