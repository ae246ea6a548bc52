// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace plait::trace {

namespace detail {
class ChunkFile;
}

/// Writes records of one thread into its chunks of the trace file. What the records contain is decided by callers.
///
/// Threads: one at a time. Never throws: when the disk is full, the file reports it once on stderr and later records
/// are lost.
class RecordWriter {
 public:
  /// Borrows the file. Without one: off.
  RecordWriter(detail::ChunkFile* file, std::uint16_t worker, std::string thread_name) noexcept;
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;
  ~RecordWriter();

  /// Whether records are kept. Callers need not compute what is only recorded when they are not.
  [[nodiscard]] bool is_on() const noexcept { return next_ != nullptr; }
  [[nodiscard]] std::uint16_t worker() const noexcept { return worker_; }

  /// The bytes of the next record, all zeros; nullptr when there is no space for it.
  [[nodiscard]] std::byte* begin_record() noexcept {
    if (next_ == end_) [[unlikely]] {
      begin_chunk();
    }
    return next_;
  }
  /// Completes the record that was begun. Its kind is stored last, so that readers of a killed process's file find a
  /// record whole or not at all.
  void end_record(std::uint8_t kind) noexcept;

 private:
  void begin_chunk() noexcept;

  std::byte* next_ = nullptr;  ///< Where the next record goes; nullptr when off.
  std::byte* end_ = nullptr;   ///< Of the chunk.
  detail::ChunkFile* file_;
  std::span<std::byte> chunk_;
  std::string thread_name_;
  std::uint32_t chunk_count_ = 0;
  std::uint16_t worker_;
};

}  // namespace plait::trace
