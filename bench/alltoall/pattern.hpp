// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace alltoall {

// An element that is sent encodes its source, its destination, its place and its iteration, so
// that nothing that is missing, misplaced or left from earlier passes for right. An element has 8 bytes.

/// One block of an all-to-all: what rank `source` of the group sends to rank `destination`.
struct Block {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint64_t iteration = 0;
};

/// Expects: the length of `data` is a multiple of 8.
void fill(std::span<std::byte> data, const Block& block);

/// Describes the first wrong element of `data`; returns nothing when all are right.
[[nodiscard]] std::optional<std::string> find_wrong(std::span<const std::byte> data, const Block& block);

}  // namespace alltoall
