// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "plait/trace/chunk_source.hpp"

namespace plait::trace {

/// Writes records of one thread into its chunks of the trace file, with a checksum of each block of 64 records.
///
/// Threads: one at a time. Throws nothing: when the disk is full, the file reports it once on stderr and later records
/// are lost.
class RecordWriter {
 public:
  /// Borrows the source of chunks, of whole blocks (`detail::block_bytes`); null: off.
  RecordWriter(ChunkSource* chunks, std::uint16_t worker, std::string thread_name) noexcept;
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;
  ~RecordWriter();

  /// Whether records are written.
  [[nodiscard]] bool is_on() const noexcept { return next_ != nullptr; }
  [[nodiscard]] std::uint16_t worker() const noexcept { return worker_; }

  /// Returns the bytes of the next record, all zeros; null when there is no space.
  [[nodiscard]] std::byte* begin_record() noexcept {
    if (next_ == end_) [[unlikely]] {
      end_block();
    }
    return next_;
  }
  /// Completes the record. Stores its kind last, so that the file of a killed process has complete records only.
  void end_record(std::uint8_t kind) noexcept;

 private:
  void begin_chunk() noexcept;
  void begin_block() noexcept;
  void end_block() noexcept;
  void write_checksum() noexcept;

  std::byte* next_ = nullptr;   ///< Where the next record goes; nullptr when off.
  std::byte* end_ = nullptr;    ///< Where the checksum of the block goes.
  std::byte* block_ = nullptr;  ///< Begin of the block.
  ChunkSource* chunks_;
  std::span<std::byte> chunk_;
  std::string thread_name_;
  std::uint32_t chunk_count_ = 0;
  std::uint16_t worker_;
};

}  // namespace plait::trace
