// SPDX-License-Identifier: Apache-2.0
#include "plait/data/packer.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "plait/base/error.hpp"

namespace plait::data {

void Packer::bytes(std::span<const std::byte> memory) {
  if (memory.empty()) {
    return;
  }
  if (to_ != nullptr) {
    const std::size_t before = to_->size();
    to_->resize(before + memory.size());
    std::memcpy(to_->data() + before, memory.data(), memory.size());
  } else if (count_ < place_.size()) {
    std::memcpy(place_.data() + count_, memory.data(), std::min(memory.size(), place_.size() - count_));
  }
  count_ += memory.size();
}

std::span<const std::byte> Unpacker::take(std::size_t count) {
  if (count > left_.size()) {
    throw Error{ErrorCode::bad_input, fmt::format("{} bytes are needed, but only {} are left", count, left_.size())};
  }
  const std::span<const std::byte> taken = left_.first(count);
  left_ = left_.subspan(count);
  return taken;
}

void Unpacker::bytes(std::span<std::byte> memory) {
  const std::span<const std::byte> from = take(memory.size());
  if (!from.empty()) {
    std::memcpy(memory.data(), from.data(), from.size());
  }
}

std::uint64_t Unpacker::length(std::size_t element_bytes) {
  std::uint64_t count = 0;
  bytes(std::as_writable_bytes(std::span{&count, 1}));
  if (count > left_.size() / element_bytes) {
    throw Error{ErrorCode::bad_input,
                fmt::format("a container should have {} elements, but only {} bytes are left", count, left_.size())};
  }
  return count;
}

bool Unpacker::boolean() {
  const auto value = static_cast<unsigned>(take(1).front());
  if (value > 1) {
    throw Error{ErrorCode::bad_input, fmt::format("{} is not a bool, which is 0 or 1", value)};
  }
  return value == 1;
}

}  // namespace plait::data
