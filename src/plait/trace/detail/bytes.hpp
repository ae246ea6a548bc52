// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include "plait/trace/event.hpp"

/// Fields of a record at their offsets. The bytes of a record to be written are zeros.
namespace plait::trace::detail {

template <class T>
void put(std::byte* record, std::size_t at, T value) noexcept {
  std::memcpy(record + at, &value, sizeof value);
}

template <class T>
[[nodiscard]] T get(const std::byte* record, std::size_t at) noexcept {
  T value;
  std::memcpy(&value, record + at, sizeof value);
  return value;
}

inline void put_text(std::byte* record, std::size_t at, std::string_view text) noexcept {
  std::memcpy(record + at, text.data(), std::min(text.size(), text_bytes_max));
}

/// Ends at the first zero, or at `length`.
[[nodiscard]] inline std::string_view get_text(const std::byte* record, std::size_t at, std::size_t length) noexcept {
  const std::string_view whole{reinterpret_cast<const char*>(record + at), std::min(length, text_bytes_max)};
  return whole.substr(0, whole.find('\0'));
}

/// Puts at most `length` entries, and `fill` for the rest.
template <std::size_t length, class T>
void put_list(std::byte* record, std::size_t at, std::span<const T> list, T fill = 0) noexcept {
  for (std::size_t i = 0; i < length; ++i) {
    put(record, at + i * sizeof(T), i < list.size() ? list[i] : fill);
  }
}

template <class T, std::size_t length>
[[nodiscard]] std::array<T, length> get_list(const std::byte* record, std::size_t at) noexcept {
  return get<std::array<T, length>>(record, at);
}

}  // namespace plait::trace::detail
