// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/record_writer.hpp"

#include <atomic>
#include <utility>

#include "plait/trace/detail/block_checksum.hpp"
#include "plait/trace/detail/chunk_file.hpp"
#include "plait/trace/detail/encode.hpp"

namespace plait::trace {

RecordWriter::RecordWriter(ChunkSource* chunks, std::uint16_t worker, std::string thread_name) noexcept
    : chunks_{chunks}, thread_name_{std::move(thread_name)}, worker_{worker} {
  if (chunks_ != nullptr) {
    begin_chunk();
  }
}

RecordWriter::~RecordWriter() {
  if (next_ != block_) {
    write_checksum();
  }
  detail::ChunkFile::release(chunk_);
}

void RecordWriter::begin_chunk() noexcept {
  if (chunks_ == nullptr) {
    return;
  }
  detail::ChunkFile::release(chunk_);
  chunk_ = chunks_->next_chunk();
  next_ = chunk_.data();
  begin_block();
  if (next_ != nullptr) {
    detail::encode(detail::ChunkRecord{.thread = worker_, .number = chunk_count_++, .name = thread_name_}, *this);
  }
}

void RecordWriter::begin_block() noexcept {
  block_ = next_;
  end_ = next_ != nullptr ? next_ + detail::block_bytes - detail::record_bytes : nullptr;
}

void RecordWriter::end_block() noexcept {
  if (next_ != nullptr) {
    write_checksum();
  }
  if (next_ == chunk_.data() + chunk_.size()) {
    begin_chunk();
  } else {
    begin_block();
  }
}

void RecordWriter::write_checksum() noexcept {
  const detail::BlockSums sums = detail::sums_of({block_, next_});
  detail::BlockChecksumRecord record{.sum = sums.sum, .sum_of_sums = sums.sum_of_sums};
  detail::FieldWriter fields{next_, worker_};
  describe(fields, record);
  end_record(static_cast<std::uint8_t>(detail::Kind::block_checksum));
}

void RecordWriter::end_record(std::uint8_t kind) noexcept {
  // with readers that map the file
  std::atomic_ref{*reinterpret_cast<std::uint8_t*>(next_)}.store(kind, std::memory_order_release);
  next_ += detail::record_bytes;
}

}  // namespace plait::trace
