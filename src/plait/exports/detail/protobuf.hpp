// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "plait/base/error.hpp"

/// The wire format of protocol buffers (https://protobuf.dev/programming-guides/encoding), as much as an export needs.
namespace plait::exports::detail {

/// Appends fields to bytes that the caller takes out. Messages inside messages have a length of fixed width, which is
/// filled in at their end: no message is encoded twice.
class ProtobufWriter {
 public:
  void number(std::uint32_t field, std::uint64_t value) {
    varint(field << 3U);
    varint(value);
  }

  void fixed(std::uint32_t field, std::uint64_t value) {
    varint(field << 3U | 1U);
    std::array<char, 8> bytes;
    for (unsigned byte = 0; byte < 8; ++byte) {
      bytes[byte] = static_cast<char>(value >> (8 * byte));
    }
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  void real(std::uint32_t field, double value) { fixed(field, std::bit_cast<std::uint64_t>(value)); }

  void text(std::uint32_t field, std::string_view value) {
    varint(field << 3U | 2U);
    varint(value.size());
    bytes_.insert(bytes_.end(), value.begin(), value.end());
  }

  /// Appends the message that `fill()` writes. Its length takes `width` bytes: at most 2^(7 width) - 1.
  template <unsigned width = 4, class Fill>
  void message(std::uint32_t field, Fill&& fill) {
    varint(field << 3U | 2U);
    const std::size_t begin = bytes_.size();
    bytes_.resize(begin + width);
    fill();
    std::size_t length = bytes_.size() - begin - width;
    require(length < std::size_t{1} << 7U * width, "a message of a trace must fit into the width of its length");
    for (unsigned byte = 0; byte < width; ++byte, length >>= 7U) {
      bytes_[begin + byte] = static_cast<char>((length & 0x7fU) | (byte + 1 < width ? 0x80U : 0U));
    }
  }

  /// What was appended since `clear`.
  [[nodiscard]] std::string_view bytes() const noexcept { return {bytes_.data(), bytes_.size()}; }
  void clear() noexcept { bytes_.clear(); }

 private:
  void varint(std::uint64_t value) {
    std::array<char, 10> bytes;
    std::size_t length = 0;
    for (; value >= 0x80; value >>= 7U) {
      bytes[length++] = static_cast<char>(value | 0x80U);
    }
    bytes[length++] = static_cast<char>(value);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
  }

  std::vector<char> bytes_;
};

}  // namespace plait::exports::detail
