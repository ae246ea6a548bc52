// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace plait::trace::detail {

[[nodiscard]] bool is_utf8(std::string_view text);

/// Returns `text` as a record stores it: at most `bytes_max` bytes of UTF-8, truncated at a character. In a text that
/// is not UTF-8, every byte above 127 becomes '?'.
[[nodiscard]] std::string storable_text(std::string_view text, std::size_t bytes_max);

}  // namespace plait::trace::detail
