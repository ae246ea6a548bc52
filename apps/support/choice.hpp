// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace app {

/// The entry of `table` with that name. Throws: `plait::Error` that names the option and lists the names.
template <class Table>
const auto& find_named(std::string_view option, std::string_view name, const Table& table) {
  std::string known;
  for (const auto& entry : table) {
    if (entry.name == name) {
      return entry;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.name);
  }
  throw plait::Error{plait::ErrorCode::bad_argument, fmt::format("{} {}: choose one of {}", option, name, known)};
}

/// The names of an option's values.
template <class T>
struct Choice {
  std::string_view name;
  T value;
};
template <class T>
T choose(std::string_view option, std::string_view name, std::initializer_list<Choice<T>> choices) {
  return find_named(option, name, choices).value;
}

/// `title`, then a line for each entry of a table: its name and its help.
template <class Table>
std::string list_named(std::string_view title, const Table& table) {
  std::string text{title};
  for (const auto& entry : table) {
    if constexpr (requires { entry.help; }) {
      text += fmt::format("\n  {}: {}", entry.name, entry.help);
    } else {
      text += fmt::format("\n  {}: {}", entry.name, entry.what);
    }
  }
  return text;
}

}  // namespace app
