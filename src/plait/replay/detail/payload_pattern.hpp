// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace plait::replay::detail {

/// Identifies a message of a replay.
struct MessageName {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t communicator = 0;
  std::uint64_t tag = 0;
  std::uint64_t order = 0;  ///< Among messages that agree in all else.
};

/// The contents of a message, by its name: words of splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
/// number generators", 2014).
class PayloadPattern {
 public:
  explicit PayloadPattern(const MessageName& name) noexcept {
    const std::uint64_t ranks = std::uint64_t{name.source} << 32U | name.destination;
    state_ = mix(mix(mix(mix(ranks) ^ name.communicator) ^ name.tag) ^ name.order);
  }

  void fill(std::span<std::byte> data) const noexcept {
    for (std::size_t at = 0; at < data.size(); at += sizeof(std::uint64_t)) {
      const std::uint64_t word = word_at(at);
      std::memcpy(&data[at], &word, std::min(sizeof word, data.size() - at));
    }
  }

  /// The offset of the first word that differs; nothing if all are right.
  [[nodiscard]] std::optional<std::size_t> find_difference(std::span<const std::byte> data) const noexcept {
    for (std::size_t at = 0; at < data.size(); at += sizeof(std::uint64_t)) {
      const std::uint64_t word = word_at(at);
      if (std::memcmp(&data[at], &word, std::min(sizeof word, data.size() - at)) != 0) {
        return at;
      }
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] static std::uint64_t mix(std::uint64_t value) noexcept {
    value += 0x9e37'79b9'7f4a'7c15;
    value = (value ^ (value >> 30U)) * 0xbf58'476d'1ce4'e5b9;
    value = (value ^ (value >> 27U)) * 0x94d0'49bb'1331'11eb;
    return value ^ (value >> 31U);
  }
  [[nodiscard]] std::uint64_t word_at(std::size_t at) const noexcept { return mix(state_ + at); }

  std::uint64_t state_ = 0;
};

}  // namespace plait::replay::detail
