// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace plait::simulate {

/// Handles of MPI are pointers or integers; those of simulated objects are numbers that no object of the library has.
inline constexpr std::uint32_t first_handle = 0x70000000;

template <class Handle>
[[nodiscard]] Handle to_handle(std::uint32_t number) noexcept {
  if constexpr (std::is_pointer_v<Handle>) {
    return std::bit_cast<Handle>(static_cast<std::uintptr_t>(first_handle) + number);
  } else {
    return static_cast<Handle>(first_handle + number);
  }
}

/// The number of a handle, and a number that no simulated object has for a handle of the library.
template <class Handle>
[[nodiscard]] std::uint32_t to_number(Handle handle) noexcept {
  if constexpr (std::is_pointer_v<Handle>) {
    return static_cast<std::uint32_t>(std::bit_cast<std::uintptr_t>(handle) - first_handle);
  } else {
    return static_cast<std::uint32_t>(handle) - first_handle;
  }
}

}  // namespace plait::simulate
