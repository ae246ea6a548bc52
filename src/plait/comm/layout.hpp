// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace plait::comm {

/// The blocks of one element of a non-contiguous type, in the order of the message. Blocks may lie before the element.
class LayoutPattern {
 public:
  struct Block {
    std::ptrdiff_t place = 0;  ///< From the element's address, in bytes.
    std::size_t bytes = 0;
  };
  /// Empty blocks are left out; a block that begins where the one before it ends becomes part of that.
  explicit LayoutPattern(const std::vector<Block>& blocks);

  [[nodiscard]] const std::vector<Block>& blocks() const noexcept { return blocks_; }
  /// Where each block begins in the message.
  [[nodiscard]] const std::vector<std::size_t>& begins() const noexcept { return begins_; }
  /// Bytes of an element in a message.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::vector<Block> blocks_;
  std::vector<std::size_t> begins_;
  std::size_t size_ = 0;
};

/// The memory of a non-contiguous message: the sequence of the bytes of its blocks. It owns no memory.
///
/// Sender and receiver may have different blocks. Threads: any, for const calls. Cost: construction is linear in the
/// blocks of `blocks` and constant else; `block_at` is logarithmic or constant.
class Layout {
 public:
  /// The blocks in order, like an iovec; empty ones are skipped.
  [[nodiscard]] static Layout blocks(std::vector<std::span<std::byte>> blocks);
  [[nodiscard]] static Layout blocks(std::vector<std::span<const std::byte>> blocks);
  /// `count` blocks of `block_bytes` at a stride of `stride_bytes`: a column of a matrix, a face of a box.
  ///
  /// Expects: `stride_bytes >= block_bytes`.
  [[nodiscard]] static Layout strided(std::byte* first,
                                      std::size_t block_bytes,
                                      std::size_t stride_bytes,
                                      std::size_t count);
  /// To send from only.
  [[nodiscard]] static Layout strided(const std::byte* first,
                                      std::size_t block_bytes,
                                      std::size_t stride_bytes,
                                      std::size_t count) {
    return strided(const_cast<std::byte*>(first), block_bytes, stride_bytes, count);
  }

  /// `count` elements with the blocks of `pattern`, at a stride of `stride_bytes`, which may be negative.
  [[nodiscard]] static Layout repeated(std::shared_ptr<const LayoutPattern> pattern,
                                       std::byte* first,
                                       std::ptrdiff_t stride_bytes,
                                       std::size_t count);

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// The contiguous memory from `offset`, which is below `size()`: at least one byte, at most `bytes`.
  [[nodiscard]] std::span<std::byte> block_at(std::size_t offset, std::size_t bytes) const;

  /// Copies the bytes from `offset` on into `to`.
  void gather(std::size_t offset, std::span<std::byte> to) const;
  /// Copies `from` to the memory of the bytes from `offset` on.
  void scatter(std::size_t offset, std::span<const std::byte> from) const;

 private:
  struct Empty {};
  explicit Layout(Empty /*unused*/) {}  // not a default constructor: `{}` is no layout

  template <class Use>
  void for_each_block(std::size_t offset, std::size_t bytes, Use use) const;

  std::size_t size_ = 0;
  // Either blocks and the offset at which each begins, or a block or a pattern repeated at a stride.
  std::vector<std::span<std::byte>> blocks_;
  std::vector<std::size_t> begins_;
  std::byte* first_ = nullptr;
  std::size_t block_bytes_ = 0;
  std::ptrdiff_t stride_bytes_ = 0;
  std::shared_ptr<const LayoutPattern> pattern_;
};

}  // namespace plait::comm
