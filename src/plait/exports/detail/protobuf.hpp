// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
    char* to = room(2 * varint_bytes_max);
    to = put(to, field << 3U);
    take(put(to, value));
  }

  void fixed(std::uint32_t field, std::uint64_t value) {
    char* to = put(room(varint_bytes_max + 8), field << 3U | 1U);
    for (unsigned byte = 0; byte < 8; ++byte) {
      *to++ = static_cast<char>(value >> (8 * byte));
    }
    take(to);
  }

  void real(std::uint32_t field, double value) { fixed(field, std::bit_cast<std::uint64_t>(value)); }

  void text(std::uint32_t field, std::string_view value) {
    char* to = room(2 * varint_bytes_max + value.size());
    to = put(to, field << 3U | 2U);
    to = put(to, value.size());
    take(std::ranges::copy(value, to).out);
  }

  /// Appends the message that `fill()` writes. Its length takes `width` bytes: at most 2^(7 width) - 1.
  template <unsigned width = 4, class Fill>
  void message(std::uint32_t field, Fill&& fill) {
    take(put(room(varint_bytes_max + width), field << 3U | 2U) + width);
    const std::size_t begin = size_;
    fill();
    std::size_t length = size_ - begin;
    require(length < std::size_t{1} << 7U * width, "a message of a trace must fit into the width of its length");
    for (unsigned byte = 0; byte < width; ++byte, length >>= 7U) {
      bytes_[begin - width + byte] = static_cast<char>((length & 0x7fU) | (byte + 1 < width ? 0x80U : 0U));
    }
  }

  /// What was appended since `clear`.
  [[nodiscard]] std::string_view bytes() const noexcept { return {bytes_.data(), size_}; }
  void clear() noexcept { size_ = 0; }

 private:
  static constexpr std::size_t varint_bytes_max = 10;

  /// Where the next bytes go: at least as many as `wanted`.
  char* room(std::size_t wanted) {
    if (bytes_.size() - size_ < wanted) {
      bytes_.resize(2 * bytes_.size() + wanted);
    }
    return bytes_.data() + size_;
  }
  void take(const char* end) noexcept { size_ = static_cast<std::size_t>(end - bytes_.data()); }

  static char* put(char* to, std::uint64_t value) noexcept {
    for (; value >= 0x80; value >>= 7U) {
      *to++ = static_cast<char>(value | 0x80U);
    }
    *to++ = static_cast<char>(value);
    return to;
  }

  std::vector<char> bytes_;  ///< The first `size_` of them are in use.
  std::size_t size_ = 0;
};

}  // namespace plait::exports::detail
