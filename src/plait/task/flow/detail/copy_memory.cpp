// SPDX-License-Identifier: Apache-2.0
#include "plait/task/flow/detail/copy_memory.hpp"

#include <algorithm>
#include <new>

namespace plait::task::detail {

namespace {

constexpr std::align_val_t alignment{64};

}  // namespace

void CopyMemory::leave(Place& place) noexcept {
  // Acquires what the others have done with the memory, and the lists of the submitting thread.
  if (place.users.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  if (place.memory != nullptr) {
    take_back(place.memory, place.bytes);
  }
  delete &place;
}

std::byte* allocate_aligned(std::size_t bytes) {
  return static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 1), alignment));
}

void free_aligned(std::byte* memory) noexcept {
  ::operator delete(memory, alignment);
}

CopyMemory::~CopyMemory() {
  for (const auto& [size, blocks] : free_) {
    std::ranges::for_each(blocks, free_aligned);
  }
}

void CopyMemory::ask(Record& record, Place& place, std::uint64_t consumer) {
  const std::lock_guard lock{mutex_};
  wishes_.push_back({&record, &place, consumer});
  asked_.store(wishes_.size(), std::memory_order_relaxed);
}

Record* CopyMemory::give(std::uint64_t ended_tasks) {
  const std::lock_guard lock{mutex_};
  if (wishes_.empty()) {
    return nullptr;
  }
  const Wish wish = wishes_.front();
  const std::size_t bytes = wish.place->bytes;
  if (wish.consumer >= ended_tasks + ahead_ || bytes > bytes_max_ - used_bytes_) {
    return nullptr;
  }
  wish.place->memory = allocate(bytes);
  used_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, used_bytes_);
  wishes_.pop_front();
  asked_.store(wishes_.size(), std::memory_order_relaxed);
  return wish.record;
}

std::byte* CopyMemory::allocate(std::size_t bytes) {
  if (const auto same = free_.find(bytes); same != free_.end() && !same->second.empty()) {
    std::byte* const block = same->second.back();
    same->second.pop_back();
    free_bytes_ -= bytes;
    return block;
  }
  for (auto other = free_.begin(); other != free_.end() && free_bytes_ > bytes_max_ - used_bytes_ - bytes; ++other) {
    free_bytes_ -= other->first * other->second.size();
    std::ranges::for_each(other->second, free_aligned);
    other->second.clear();
  }
  return allocate_aligned(bytes);
}

void CopyMemory::take_back(std::byte* memory, std::size_t bytes) noexcept {
  const std::lock_guard lock{mutex_};
  used_bytes_ -= bytes;
  free_bytes_ += bytes;
  free_[bytes].push_back(memory);
}

std::size_t CopyMemory::bytes_needed() const {
  const std::lock_guard lock{mutex_};
  std::size_t needed = used_bytes_;
  for (const Wish& wish : wishes_) {
    if (wish.consumer != wishes_.front().consumer) {
      break;
    }
    needed += wish.place->bytes;
  }
  return needed;
}

std::pair<std::size_t, std::size_t> CopyMemory::usage() const {
  const std::lock_guard lock{mutex_};
  return {used_bytes_, peak_bytes_};
}

}  // namespace plait::task::detail
