// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace alltoall {

// Each element of 8 bytes encodes its source, destination, position and iteration, so that a missing, misplaced or
// stale element is detected.

/// One block of an all-to-all: what rank `source` of the group sends to rank `destination`.
struct Block {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint64_t iteration = 0;
};

/// Fills `data` with the elements of the block. Expects: the length of `data` is a multiple of 8.
void fill(std::span<std::byte> data, const Block& block);

/// Describes the first wrong element of `data`. Returns nothing when all are right.
[[nodiscard]] std::optional<std::string> find_wrong(std::span<const std::byte> data, const Block& block);

}  // namespace alltoall
