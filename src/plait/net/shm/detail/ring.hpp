// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "plait/net/packet.hpp"

namespace plait::net::detail::shm {

inline constexpr std::size_t line_bytes = 64;

[[nodiscard]] constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// A ring of records from one sender to one receiver in shared memory: a line with the receiver's position, then
/// `capacity` bytes.
///
/// A record starts on a cache line with its size, 0 if it is not written yet; then its bytes. So a small record moves
/// between cores with one cache line. The sender clears the size after a record before it publishes the record, so that
/// the receiver never reads a size of an earlier lap.
struct RingMemory {
  static constexpr std::size_t head_bytes = 2 * line_bytes;  // two lines: processors fetch them in pairs

  std::byte* start = nullptr;  ///< Aligned to `line_bytes`; all 0 at first.
  std::size_t capacity = 0;    ///< A multiple of `line_bytes`; at least `capacity_min` of the largest record.

  /// What a record of `size` bytes takes.
  [[nodiscard]] static constexpr std::size_t record_bytes(std::size_t size) {
    return round_up(sizeof(std::uint64_t) + size, line_bytes);
  }
  /// Room for two of the largest: with one of them unread another is accepted, and the word after it is clear.
  [[nodiscard]] static constexpr std::size_t capacity_min(std::size_t size_max) {
    return 2 * record_bytes(size_max) + line_bytes;
  }

  [[nodiscard]] std::atomic_ref<std::uint64_t> bytes_read() const {
    return std::atomic_ref{*reinterpret_cast<std::uint64_t*>(start)};
  }
  [[nodiscard]] std::atomic_ref<std::uint64_t> size_at(std::size_t offset) const {
    return std::atomic_ref{*reinterpret_cast<std::uint64_t*>(start + head_bytes + offset)};
  }
  /// The first of `offset` and `offset` less a lap that is inside.
  [[nodiscard]] std::size_t wrapped(std::size_t offset) const {
    return offset >= capacity ? offset - capacity : offset;
  }
};

/// How the receiver learns of a record: it polls the ring, or the sender also raises a flag.
enum class Showing : std::uint8_t { polled, flagged };

/// The sender's end. One thread.
class RingWriter {
 public:
  RingWriter() = default;
  explicit RingWriter(const RingMemory& memory) : memory_{memory} {}

  /// False when there is no room; reads how far the receiver is only when the last known value is not enough.
  template <Showing showing>
  [[nodiscard]] bool put(const Packet& packet) {
    const std::size_t record = RingMemory::record_bytes(packet.size());
    if (written_ - read_ + record + line_bytes > memory_.capacity && !has_room_now(record)) [[unlikely]] {
      return false;
    }
    const std::size_t next = memory_.wrapped(offset_ + record);
    memory_.size_at(next).store(0, std::memory_order_relaxed);  // before the release below
    copy_in(packet);
    // With acquire in RingReader::size().
    memory_.size_at(offset_).store(packet.size(),
                                   showing == Showing::flagged ? std::memory_order_seq_cst : std::memory_order_release);
    offset_ = next;
    written_ += record;
    // The line after the next: the one that the next short record clears; owned in time, it delays no one.
    __builtin_prefetch(memory_.start + RingMemory::head_bytes + memory_.wrapped(next + line_bytes), 1);
    return true;
  }

  /// Whether a record of `size` bytes would have room now.
  [[nodiscard]] bool has_room(std::size_t size) { return has_room_now(RingMemory::record_bytes(size)); }

 private:
  bool has_room_now(std::size_t record) {
    read_ = memory_.bytes_read().load(std::memory_order_acquire);  // with release in RingReader::publish()
    return written_ - read_ + record + line_bytes <= memory_.capacity;
  }

  void copy_in(const Packet& packet) {
    std::byte* const bytes = memory_.start + RingMemory::head_bytes;
    const std::size_t begin = offset_ + sizeof(std::uint64_t);
    const std::size_t first = std::min(packet.size(), memory_.capacity - begin);
    std::memcpy(bytes + begin, packet.data(), first);
    if (first < packet.size()) [[unlikely]] {
      std::memcpy(bytes, packet.data() + first, packet.size() - first);
    }
  }

  RingMemory memory_;
  std::size_t offset_ = 0;     ///< Of the next record.
  std::uint64_t written_ = 0;  ///< Bytes of all records so far.
  std::uint64_t read_ = 0;     ///< The same of those read, as last heard.
};

/// The receiver's end. One thread.
class RingReader {
 public:
  RingReader() = default;
  explicit RingReader(const RingMemory& memory) : memory_{memory}, publish_every_{memory.capacity / 8} {}

  /// Of the oldest record; 0 when there is none, and then the sender knows that all were read.
  template <Showing showing>
  [[nodiscard]] std::size_t size() {
    // With release in RingWriter::put(); seq_cst so that it cannot overtake the clearing of the flags.
    const std::size_t size = memory_.size_at(offset_).load(showing == Showing::flagged ? std::memory_order_seq_cst
                                                                                       : std::memory_order_acquire);
    if (size == 0 && read_ != published_) {
      publish();
    }
    return size;
  }

  /// Copies the oldest record, whose size is `size`, into `packet`.
  void take(std::size_t size, Packet& packet) {
    const std::byte* const bytes = memory_.start + RingMemory::head_bytes;
    const std::size_t begin = offset_ + sizeof(std::uint64_t);
    const std::size_t first = std::min(size, memory_.capacity - begin);
    packet.resize(size);
    std::memcpy(packet.data(), bytes + begin, first);
    if (first < size) [[unlikely]] {
      std::memcpy(packet.data() + first, bytes, size - first);
    }
    const std::size_t record = RingMemory::record_bytes(size);
    offset_ = memory_.wrapped(offset_ + record);
    read_ += record;
    if (read_ - published_ >= publish_every_) {
      publish();
    }
  }

 private:
  void publish() {
    memory_.bytes_read().store(read_, std::memory_order_release);  // with acquire in RingWriter::has_room_now()
    published_ = read_;
  }

  RingMemory memory_;
  std::size_t offset_ = 0;
  std::size_t publish_every_ = 0;  ///< In bytes: each publication takes a line away from the sender.
  std::uint64_t read_ = 0;
  std::uint64_t published_ = 0;
};

}  // namespace plait::net::detail::shm
