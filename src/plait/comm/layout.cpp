// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/layout.hpp"

#include <algorithm>
#include <cstring>

#include "plait/base/error.hpp"

namespace plait::comm {

LayoutPattern::LayoutPattern(const std::vector<Block>& blocks) {
  for (const Block& block : blocks) {
    if (block.bytes == 0) {
      continue;
    }
    if (!blocks_.empty() && blocks_.back().place + static_cast<std::ptrdiff_t>(blocks_.back().bytes) == block.place) {
      blocks_.back().bytes += block.bytes;
    } else {
      blocks_.push_back(block);
      begins_.push_back(size_);
    }
    size_ += block.bytes;
  }
}

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
  layout.stride_bytes_ = static_cast<std::ptrdiff_t>(stride_bytes);
  layout.size_ = block_bytes * count;
  return layout;
}

Layout Layout::repeated(std::shared_ptr<const LayoutPattern> pattern,
                        std::byte* first,
                        std::ptrdiff_t stride_bytes,
                        std::size_t count) {
  Layout layout{Empty{}};
  layout.first_ = first;
  layout.stride_bytes_ = stride_bytes;
  layout.size_ = pattern->size() * count;
  layout.pattern_ = std::move(pattern);
  return layout;
}

std::span<std::byte> Layout::block_at(std::size_t offset, std::size_t bytes) const {
  expect(offset < size_, "an offset inside the layout");
  if (pattern_) {
    const auto element = static_cast<std::ptrdiff_t>(offset / pattern_->size());
    const std::size_t inside = offset % pattern_->size();
    const auto index =
        static_cast<std::size_t>(std::ranges::upper_bound(pattern_->begins(), inside) - pattern_->begins().begin()) - 1;
    const LayoutPattern::Block& block = pattern_->blocks()[index];
    const std::size_t skipped = inside - pattern_->begins()[index];
    return {first_ + element * stride_bytes_ + block.place + static_cast<std::ptrdiff_t>(skipped),
            std::min(bytes, block.bytes - skipped)};
  }
  if (blocks_.empty()) {
    if (stride_bytes_ == static_cast<std::ptrdiff_t>(block_bytes_)) {  // all in one
      return {first_ + offset, std::min(bytes, size_ - offset)};
    }
    const std::size_t inside = offset % block_bytes_;
    return {first_ + static_cast<std::ptrdiff_t>(offset / block_bytes_) * stride_bytes_ + inside,
            std::min(bytes, block_bytes_ - inside)};
  }
  const auto after = std::ranges::upper_bound(begins_, offset);
  const auto index = static_cast<std::size_t>(after - begins_.begin()) - 1;
  const std::span<std::byte> rest = blocks_[index].subspan(offset - begins_[index]);
  return rest.first(std::min(bytes, rest.size()));
}

/// `use(position, block)` for each block of the bytes from `offset` on; `position` counts from there.
template <class Use>
void Layout::for_each_block(std::size_t offset, std::size_t bytes, Use use) const {
  if (pattern_ && bytes > 0) {  // block after block, without a search for each
    const auto& blocks = pattern_->blocks();
    const std::span<std::byte> start = block_at(offset, bytes);
    use(0, start);
    auto element = static_cast<std::ptrdiff_t>((offset + start.size()) / pattern_->size());
    const std::size_t inside = (offset + start.size()) % pattern_->size();
    auto index =
        static_cast<std::size_t>(std::ranges::lower_bound(pattern_->begins(), inside) - pattern_->begins().begin());
    for (std::size_t position = start.size(); position < bytes;) {
      const std::size_t size = std::min(bytes - position, blocks[index].bytes);
      use(position, std::span{first_ + element * stride_bytes_ + blocks[index].place, size});
      position += size;
      if (++index == blocks.size()) {
        index = 0;
        ++element;
      }
    }
    return;
  }
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
