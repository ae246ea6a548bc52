// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace plait::comm {

/// The memory of a non-contiguous message: the sequence of the bytes of its blocks. It owns no memory.
///
/// Sender and receiver may have different blocks. Threads: any, for const calls. Cost: construction is linear in the
/// blocks of `blocks` and constant for `strided`; `block_at` is logarithmic or constant.
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
  // Either blocks and the offset at which each begins, or one block repeated at a stride.
  std::vector<std::span<std::byte>> blocks_;
  std::vector<std::size_t> begins_;
  std::byte* first_ = nullptr;
  std::size_t block_bytes_ = 0;
  std::size_t stride_bytes_ = 0;
};

}  // namespace plait::comm
