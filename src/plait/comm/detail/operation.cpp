// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/operation.hpp"

#include <cstring>

namespace plait::comm::detail {

void MessageMemory::gather(std::size_t offset, std::span<std::byte> to) const {
  if (layout) {
    layout->gather(offset, to);
  } else if (!to.empty()) {
    std::memcpy(to.data(), memory.data() + offset, to.size());
  }
}

void MessageMemory::scatter(std::size_t offset, std::span<const std::byte> from) const {
  if (layout) {
    layout->scatter(offset, from);
  } else if (!from.empty()) {
    std::memcpy(memory.data() + offset, from.data(), from.size());
  }
}

std::span<std::byte> MessageMemory::contiguous(std::size_t offset, std::size_t size) const {
  if (!layout) {
    return memory.subspan(offset, size);
  }
  const std::span<std::byte> block = layout->block_at(offset, size);
  return block.size() == size ? block : std::span<std::byte>{};
}

void acquire(Operation& operation) noexcept {
  operation.count.fetch_add(1, std::memory_order_relaxed);  // the caller holds a count already
}

void release(Operation* operation) noexcept {
  // Releases what this holder wrote, and the last one acquires what all wrote, before the operation goes.
  // The only holder needs no atomic subtraction: no other thread can acquire a count.
  if (operation != nullptr && (operation->count.load(std::memory_order_acquire) == 1 ||
                               operation->count.fetch_sub(1, std::memory_order_acq_rel) == 1)) {
    delete operation;
  }
}

}  // namespace plait::comm::detail
