// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "plait/base/error.hpp"

namespace plait::net {

/// A buffer of fixed capacity whose first `size()` bytes are sent. It has one owner.
///
/// A default-constructed or moved-from packet has no buffer and converts to false. New bytes are uninitialised.
class Packet {
 public:
  Packet() = default;
  explicit Packet(std::size_t capacity)
      : bytes_{std::make_unique_for_overwrite<std::byte[]>(capacity)}, capacity_{capacity} {}
  Packet(Packet&& other) noexcept
      : bytes_{std::move(other.bytes_)},
        size_{std::exchange(other.size_, 0)},
        capacity_{std::exchange(other.capacity_, 0)} {}
  Packet& operator=(Packet&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }
  Packet(const Packet&) = delete;
  Packet& operator=(const Packet&) = delete;
  ~Packet() = default;

  explicit operator bool() const noexcept { return bytes_ != nullptr; }
  [[nodiscard]] std::byte* data() noexcept { return bytes_.get(); }
  [[nodiscard]] const std::byte* data() const noexcept { return bytes_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {bytes_.get(), size_}; }

  /// Sets the size; existing bytes stay. Expects: at most `capacity()`.
  void resize(std::size_t size) {
    expect(size <= capacity_, "a packet does not grow");
    size_ = size;
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace plait::net
