// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <source_location>
#include <string_view>

namespace plait {

/// The compiler's name of `Type`, for error messages.
template <class Type>
[[nodiscard]] consteval std::string_view type_name() {
  const std::string_view whole = std::source_location::current().function_name();
  constexpr std::string_view before = "Type = ";
  const std::size_t begin = whole.find(before);
  if (begin == std::string_view::npos) {
    return whole;
  }
  const std::size_t end = whole.find(';', begin);
  return whole.substr(begin + before.size(),
                      (end == std::string_view::npos ? whole.size() - 1 : end) - begin - before.size());
}

}  // namespace plait
