// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/layout.hpp"

#include <algorithm>
#include <cstring>

#include "plait/base/error.hpp"

namespace plait::comm {

Layout Layout::blocks(std::vector<std::span<std::byte>> blocks) {
  Layout layout{Empty{}};
  std::erase_if(blocks, [](const auto& block) { return block.empty(); });
  layout.begins_.reserve(blocks.size());
  for (const auto& block : blocks) {
    layout.begins_.push_back(layout.size_);
    layout.size_ += block.size();
  }
  layout.blocks_ = std::move(blocks);
  return layout;
}

Layout Layout::blocks(std::vector<std::span<const std::byte>> blocks) {
  std::vector<std::span<std::byte>> writable;
  writable.reserve(blocks.size());
  for (const auto& block : blocks) {
    writable.emplace_back(const_cast<std::byte*>(block.data()), block.size());  // a send only reads
  }
  return Layout::blocks(std::move(writable));
}

Layout Layout::strided(std::byte* first, std::size_t block_bytes, std::size_t stride_bytes, std::size_t count) {
  expect(stride_bytes >= block_bytes, "blocks of a strided layout do not overlap");
  Layout layout{Empty{}};
  layout.first_ = first;
  layout.block_bytes_ = block_bytes;
  layout.stride_bytes_ = stride_bytes;
  layout.size_ = block_bytes * count;
  return layout;
}

std::span<std::byte> Layout::block_at(std::size_t offset, std::size_t bytes) const {
  expect(offset < size_, "an offset inside the layout");
  if (blocks_.empty()) {
    if (stride_bytes_ == block_bytes_) {  // all in one
      return {first_ + offset, std::min(bytes, size_ - offset)};
    }
    const std::size_t inside = offset % block_bytes_;
    return {first_ + offset / block_bytes_ * stride_bytes_ + inside, std::min(bytes, block_bytes_ - inside)};
  }
  const auto after = std::ranges::upper_bound(begins_, offset);
  const auto index = static_cast<std::size_t>(after - begins_.begin()) - 1;
  const std::span<std::byte> rest = blocks_[index].subspan(offset - begins_[index]);
  return rest.first(std::min(bytes, rest.size()));
}

/// `use(position, block)` for each block of the bytes from `offset` on; `position` counts from there.
template <class Use>
void Layout::for_each_block(std::size_t offset, std::size_t bytes, Use use) const {
  for (std::size_t position = 0; position < bytes;) {
    const std::span<std::byte> block = block_at(offset + position, bytes - position);
    use(position, block);
    position += block.size();
  }
}

void Layout::gather(std::size_t offset, std::span<std::byte> to) const {
  for_each_block(offset, to.size(), [&](std::size_t position, std::span<const std::byte> block) {
    std::memcpy(to.data() + position, block.data(), block.size());
  });
}

void Layout::scatter(std::size_t offset, std::span<const std::byte> from) const {
  for_each_block(offset, from.size(), [&](std::size_t position, std::span<std::byte> block) {
    std::memcpy(block.data(), from.data() + position, block.size());
  });
}

}  // namespace plait::comm
