// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/detail/text.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace plait::trace::detail {
bool is_utf8(std::string_view text) {
  try {
    (void)nlohmann::json(text).dump();  // a string of JSON is UTF-8, which it checks
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

std::string storable_text(std::string_view text, std::size_t bytes_max) {
  std::string stored{text};
  if (!is_utf8(stored)) {
    std::ranges::replace_if(stored, [](char c) { return static_cast<unsigned char>(c) > 127; }, '?');
  }
  if (stored.size() > bytes_max) {
    std::size_t end = bytes_max;
    // Not in the midst of a character.
    while (end > 0 && (static_cast<unsigned char>(stored[end]) & 0xC0U) == 0x80U) {
      --end;
    }
    stored.resize(end);
  }
  return stored;
}

}  // namespace plait::trace::detail
