// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <utility>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/base/spin_lock.hpp"

namespace plait::accelerate {

/// Objects in one range of addresses, so that one comparison decides whether an address or a number is one of them.
///
/// The range is reserved once and takes memory as it is used. Threads: any.
template <class T>
class Pool {
 public:
  /// Throws: `Error` with `out_of_memory` when the addresses cannot be reserved.
  explicit Pool(std::uint32_t capacity) : capacity_{capacity} {
    void* const reserved = ::mmap(
        nullptr, capacity * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) {
      throw Error{ErrorCode::out_of_memory, "the system has no addresses left for requests"};
    }
    first_ = static_cast<T*>(reserved);
    free_.reserve(capacity);  // of addresses too: `end` allocates nothing
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { ::munmap(static_cast<void*>(first_), capacity_ * sizeof(T)); }

  /// Returns a new object. Throws: `Error` with `out_of_memory` when all are in use.
  template <class... Arguments>
  [[nodiscard]] T& make(Arguments&&... arguments) {
    void* const place = first_ + take();
    if constexpr (sizeof...(Arguments) == 0) {
      return *new (place) T;  // without braces: members that need no value are not cleared first
    } else {
      return *new (place) T{std::forward<Arguments>(arguments)...};
    }
  }
  void end(T& object) noexcept {
    const std::uint32_t index = index_of(object);
    object.~T();
    const std::lock_guard lock{mutex_};
    free_.push_back(index);
  }

  [[nodiscard]] bool contains(const void* address) const noexcept {
    return address >= static_cast<const void*>(first_) && address < static_cast<const void*>(first_ + capacity_);
  }
  [[nodiscard]] std::uint32_t index_of(const T& object) const noexcept {
    return static_cast<std::uint32_t>(&object - first_);
  }
  [[nodiscard]] T& at(std::uint32_t index) const noexcept { return first_[index]; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }

 private:
  [[nodiscard]] std::uint32_t take() {
    const std::lock_guard lock{mutex_};
    if (!free_.empty()) {
      const std::uint32_t index = free_.back();
      free_.pop_back();
      return index;
    }
    if (used_ == capacity_) {
      throw Error{ErrorCode::out_of_memory, "the program has more requests than plait can name"};
    }
    return used_++;
  }

  const std::uint32_t capacity_;
  T* first_ = nullptr;
  SpinLock mutex_;
  std::vector<std::uint32_t> free_;
  std::uint32_t used_ = 0;  ///< Objects that were ever in use.
};

}  // namespace plait::accelerate
