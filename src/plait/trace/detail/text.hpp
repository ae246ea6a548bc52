// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace plait::trace::detail {

[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// `text` as it can are in a record: at most `bytes_max` bytes of UTF-8, cut at a character;
/// every byte above 127 becomes '?' when the text is not UTF-8.
[[nodiscard]] std::string storable_text(std::string_view text, std::size_t bytes_max);

}  // namespace plait::trace::detail
