// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace plait {

/// An allocator that leaves new elements uninitialised, for buffers that are about to be overwritten.
template <class T>
struct UninitializedAllocator {
  using value_type = T;

  UninitializedAllocator() = default;
  template <class U>
  explicit UninitializedAllocator(const UninitializedAllocator<U>&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) { return std::allocator<T>{}.allocate(count); }
  void deallocate(T* first, std::size_t count) noexcept { std::allocator<T>{}.deallocate(first, count); }

  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    if constexpr (sizeof...(Arguments) == 0 && std::is_trivially_default_constructible_v<U>) {
      ::new (static_cast<void*>(place)) U;
    } else {
      ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
    }
  }

  friend bool operator==(const UninitializedAllocator&, const UninitializedAllocator&) = default;
};

/// A buffer of bytes. `resize` leaves new bytes uninitialised.
using Bytes = std::vector<std::byte, UninitializedAllocator<std::byte>>;

}  // namespace plait
