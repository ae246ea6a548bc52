// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/net/shared_copies.hpp"

namespace plait::net::detail {

/// Shared copies in memory that all ranks map: for each rank, buffers that each follow a counter of the readers left.
class CopyBuffers final : public SharedCopies {
 public:
  static constexpr std::size_t line_bytes = 64;

  /// What the buffers of `rank_count` ranks take.
  [[nodiscard]] static constexpr std::size_t total_bytes(std::uint32_t rank_count, const SharedCopyOptions& options) {
    return std::size_t{rank_count} * options.count * stride(options);
  }

  /// `memory` has `total_bytes`, is aligned to `line_bytes`, 0 at first, and outlives this.
  CopyBuffers(std::byte* memory, Rank self, std::uint32_t rank_count, const SharedCopyOptions& options)
      : memory_{memory}, self_{self}, rank_count_{rank_count}, options_{options} {}

  [[nodiscard]] std::size_t bytes_max() const noexcept override { return options_.bytes_max; }
  [[nodiscard]] bool reaches(Rank peer) const noexcept override { return peer.value() < rank_count_; }

  [[nodiscard]] std::optional<Created> create(std::size_t bytes, std::uint32_t reader_count) override {
    expect(bytes > 0 && bytes <= options_.bytes_max, "a shared copy has at least one byte, and fits its buffer");
    expect(reader_count > 0, "a shared copy has a reader");
    for (std::uint32_t index = 0; index < options_.count; ++index) {
      const auto left = readers_left(self_, index);
      if (left.load(std::memory_order_acquire) == 0) {        // with release in release(): all have read it
        left.store(reader_count, std::memory_order_relaxed);  // ordered by the packets with the id
        return Created{SharedCopyId{index}, {buffer(self_, index), bytes}};
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::span<const std::byte> read(Rank owner, SharedCopyId id, std::size_t bytes) const override {
    const bool is_valid = owner.value() < rank_count_ && id.value() < options_.count && bytes <= options_.bytes_max &&
                          readers_left(owner, id.value()).load(std::memory_order_relaxed) > 0;
    return is_valid ? std::span<const std::byte>{buffer(owner, id.value()), bytes} : std::span<const std::byte>{};
  }

  void release(Rank owner, SharedCopyId id) noexcept override {
    readers_left(owner, id.value()).fetch_sub(1, std::memory_order_release);  // with acquire in create()
  }

 private:
  [[nodiscard]] static constexpr std::size_t stride(const SharedCopyOptions& options) {
    return line_bytes + (options.bytes_max + line_bytes - 1) / line_bytes * line_bytes;
  }
  [[nodiscard]] std::byte* at(Rank owner, std::uint32_t index) const {
    return memory_ + (std::size_t{owner.value()} * options_.count + index) * stride(options_);
  }
  [[nodiscard]] std::atomic_ref<std::uint32_t> readers_left(Rank owner, std::uint32_t index) const {
    return std::atomic_ref{*reinterpret_cast<std::uint32_t*>(at(owner, index))};
  }
  [[nodiscard]] std::byte* buffer(Rank owner, std::uint32_t index) const { return at(owner, index) + line_bytes; }

  std::byte* memory_;
  Rank self_;
  std::uint32_t rank_count_;
  SharedCopyOptions options_;
};

/// The memory of the copies of ranks that are in one process.
class CopyMemory {
 public:
  CopyMemory(std::uint32_t rank_count, const SharedCopyOptions& options)
      : rank_count_{rank_count},
        options_{options},
        lines_(CopyBuffers::total_bytes(rank_count, options) / CopyBuffers::line_bytes) {}

  /// The copies as `self` uses them.
  [[nodiscard]] CopyBuffers of(Rank self) {
    return {reinterpret_cast<std::byte*>(lines_.data()), self, rank_count_, options_};
  }

 private:
  struct alignas(CopyBuffers::line_bytes) Line {
    std::byte bytes[CopyBuffers::line_bytes];
  };

  std::uint32_t rank_count_;
  SharedCopyOptions options_;
  std::vector<Line> lines_;
};

}  // namespace plait::net::detail
