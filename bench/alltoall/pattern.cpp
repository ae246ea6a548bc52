// SPDX-License-Identifier: Apache-2.0
#include "alltoall/pattern.hpp"

#include <cstring>

#include <fmt/format.h>

namespace alltoall {

namespace {

constexpr std::size_t element_bytes = sizeof(std::uint64_t);

/// Different for each block; SplitMix64's last step spreads every bit over all.
std::uint64_t start_of(const Block& block) {
  std::uint64_t mixed =
      (std::uint64_t{block.source} << 32U | block.destination) + block.iteration * 0x9E3779B97F4A7C15U;
  mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
  return mixed ^ (mixed >> 31U);
}

constexpr std::uint64_t stride = 0xD1B54A32D192ED03U;  // odd: all elements of a block differ

}  // namespace

void fill(std::span<std::byte> data, const Block& block) {
  std::uint64_t value = start_of(block);
  for (std::size_t at = 0; at + element_bytes <= data.size(); at += element_bytes, value += stride) {
    std::memcpy(data.data() + at, &value, element_bytes);
  }
}

std::optional<std::string> find_wrong(std::span<const std::byte> data, const Block& block) {
  std::uint64_t expected = start_of(block);
  for (std::size_t at = 0; at + element_bytes <= data.size(); at += element_bytes, expected += stride) {
    std::uint64_t value = 0;
    std::memcpy(&value, data.data() + at, element_bytes);
    if (value != expected) {
      return fmt::format("element {} of the block from rank {} to rank {} of the group is {:#018x}, not {:#018x}",
                         at / element_bytes,
                         block.source,
                         block.destination,
                         value,
                         expected);
    }
  }
  return std::nullopt;
}

}  // namespace alltoall
