// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/detail/text.hpp"

#include <algorithm>

namespace plait::trace::detail {
namespace {

bool is_continuation(char c) noexcept {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// Bytes of the character that begins with `lead`; 0 when none can.
std::size_t character_bytes(unsigned char lead) noexcept {
  if (lead < 0x80U) {
    return 1;
  }
  if (lead < 0xC2U || lead > 0xF4U) {
    return 0;
  }
  return lead < 0xE0U ? 2 : lead < 0xF0U ? 3 : 4;
}

/// Whether the second byte keeps the character from being overlong, a surrogate, or out of range.
bool is_second_byte(unsigned char lead, unsigned char second) noexcept {
  switch (lead) {
    case 0xE0U:
      return second >= 0xA0U;
    case 0xEDU:
      return second < 0xA0U;
    case 0xF0U:
      return second >= 0x90U;
    case 0xF4U:
      return second < 0x90U;
    default:
      return true;
  }
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t bytes = character_bytes(lead);
    if (bytes == 0 || bytes > text.size() || !std::ranges::all_of(text.substr(1, bytes - 1), is_continuation) ||
        (bytes > 1 && !is_second_byte(lead, static_cast<unsigned char>(text[1])))) {
      return false;
    }
    text.remove_prefix(bytes);
  }
  return true;
}

std::string storable_text(std::string_view text, std::size_t bytes_max) {
  std::string stored{text};
  if (!is_utf8(stored)) {
    std::ranges::replace_if(stored, [](char c) { return static_cast<unsigned char>(c) > 127; }, '?');
  }
  if (stored.size() > bytes_max) {
    std::size_t end = bytes_max;
    while (end > 0 && is_continuation(stored[end])) {
      --end;
    }
    stored.resize(end);
  }
  return stored;
}

}  // namespace plait::trace::detail
