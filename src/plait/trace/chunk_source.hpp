// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace plait::trace {

/// Where threads get the chunks of a trace file that they fill with records. Threads: any.
class ChunkSource {
 public:
  ChunkSource() = default;
  ChunkSource(const ChunkSource&) = delete;
  ChunkSource& operator=(const ChunkSource&) = delete;
  virtual ~ChunkSource() = default;

  /// Returns a chunk of zeros, mapped into memory; nothing when there is no space. The caller unmaps it.
  [[nodiscard]] virtual std::span<std::byte> next_chunk() noexcept = 0;
};

}  // namespace plait::trace
