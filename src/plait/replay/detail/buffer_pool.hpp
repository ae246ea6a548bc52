// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/spin_lock.hpp"

namespace plait::replay::detail {

/// Buffers for messages in flight, which are reused. Sizes are rounded up to powers of two. New memory is cleared, so
/// that its pages exist. Threads: any.
class BufferPool {
 public:
  /// A buffer of at least `bytes`, with old contents.
  [[nodiscard]] std::byte* take(std::size_t bytes) {
    const std::size_t size_class = class_of(bytes);
    {
      const std::lock_guard lock{mutex_};
      if (size_class < free_.size() && !free_[size_class].empty()) {
        std::byte* const buffer = free_[size_class].back();
        free_[size_class].pop_back();
        return buffer;
      }
    }
    return create(size_class);
  }
  /// Creates `count` buffers of at least `bytes`, so that as many calls of `take` need no new memory.
  void reserve(std::size_t bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      give(create(class_of(bytes)), bytes);
    }
  }
  /// Buffers that were created so far.
  [[nodiscard]] std::size_t created() {
    const std::lock_guard lock{mutex_};
    return all_.size();
  }
  /// Returns a buffer; `bytes` as in `take`.
  void give(std::byte* buffer, std::size_t bytes) {
    const std::size_t size_class = class_of(bytes);
    const std::lock_guard lock{mutex_};
    if (free_.size() <= size_class) {
      free_.resize(size_class + 1);
    }
    free_[size_class].push_back(buffer);
  }

 private:
  static constexpr std::size_t bytes_min = 64;

  std::byte* create(std::size_t size_class) {
    const std::size_t size = std::size_t{1} << size_class;
    auto memory = std::make_unique_for_overwrite<std::byte[]>(size);
    std::memset(memory.get(), 0, size);
    const std::lock_guard lock{mutex_};
    all_.push_back(std::move(memory));
    return all_.back().get();
  }
  [[nodiscard]] static std::size_t class_of(std::size_t bytes) noexcept {
    return static_cast<std::size_t>(std::bit_width(std::max(bytes, bytes_min) - 1));
  }

  SpinLock mutex_;
  std::vector<std::vector<std::byte*>> free_;  ///< By size class.
  std::vector<std::unique_ptr<std::byte[]>> all_;
};

}  // namespace plait::replay::detail
