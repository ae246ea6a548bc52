// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <span>

#include "plait/trace/detail/layout.hpp"

namespace plait::trace::detail {

/// A rank's trace file: grows chunk by chunk, each mapped into memory, so that what was recorded
/// is in the file even when the process is killed a moment later.
///
/// Threads: `next_chunk` from any.
class ChunkFile {
 public:
  /// Creates the file; its folder must be there. Throws: `Error` with `io`, also when the file
  /// exists already (a trace is never overwritten).
  ChunkFile(std::filesystem::path path, const Header& header);
  ChunkFile(const ChunkFile&) = delete;
  ChunkFile& operator=(const ChunkFile&) = delete;
  ~ChunkFile();

  /// `chunk_bytes` of zeros at the file's end; empty when the disk is full, which warns on stderr
  /// the first time and makes all later calls empty.
  [[nodiscard]] std::span<std::byte> next_chunk() noexcept;
  /// Gives back what `next_chunk` returned. The bytes stay in the file.
  static void release(std::span<std::byte> chunk) noexcept;

 private:
  void stop(const char* what, int error) noexcept;

  std::filesystem::path path_;
  std::size_t chunk_bytes_;
  std::mutex mutex_;
  int file_ = -1;
  std::size_t end_ = header_bytes;
  bool is_stopped_ = false;
};

}  // namespace plait::trace::detail
