// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

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
/// between cores with one cache line. The receiver clears the size of each record that it has read. Where the next
/// record will start in the middle of one of an earlier lap, the sender clears that line before it publishes a record.
/// So the receiver polls a line that it has written itself, which delays the sender's write to it least.
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
  explicit RingWriter(const RingMemory& memory) : memory_{memory}, is_inner_(memory.capacity / line_bytes) {}

  /// False when there is no room; reads how far the receiver is only when the last known value is not enough.
  template <Showing showing>
  [[nodiscard]] bool put(std::span<const std::byte> head, std::span<const std::byte> data) {
    const std::size_t size = head.size() + data.size();
    const std::size_t record = RingMemory::record_bytes(size);
    if (written_ - read_ + record + line_bytes > memory_.capacity && !has_room_now(record)) [[unlikely]] {
      return false;
    }
    const std::size_t next = memory_.wrapped(offset_ + record);
    if (record > line_bytes) {
      mark_inner(offset_ / line_bytes + 1, record / line_bytes - 1);
    }
    if (is_inner_[next / line_bytes]) {
      is_inner_[next / line_bytes] = false;
      memory_.size_at(next).store(0, std::memory_order_relaxed);  // before the release below
    }
    copy_in(offset_ + sizeof(std::uint64_t), head);
    copy_in(offset_ + sizeof(std::uint64_t) + head.size(), data);
    // With acquire in RingReader::size().
    memory_.size_at(offset_).store(size,
                                   showing == Showing::flagged ? std::memory_order_seq_cst : std::memory_order_release);
    offset_ = next;
    written_ += record;
    return true;
  }

  /// Whether a record of `size` bytes would have room now.
  [[nodiscard]] bool has_room(std::size_t size) { return has_room_now(RingMemory::record_bytes(size)); }

 private:
  bool has_room_now(std::size_t record) {
    read_ = memory_.bytes_read().load(std::memory_order_acquire);  // with release in RingReader::publish()
    return written_ - read_ + record + line_bytes <= memory_.capacity;
  }

  void mark_inner(std::size_t first, std::size_t count) {
    if (count == 1 && first < is_inner_.size()) {
      is_inner_[first] = true;
      return;
    }
    const auto begin = is_inner_.begin() + static_cast<std::ptrdiff_t>(std::min(first, is_inner_.size()));
    const auto until_end = std::min(static_cast<std::ptrdiff_t>(count), is_inner_.end() - begin);
    std::fill(begin, begin + until_end, true);  // by words
    std::fill(is_inner_.begin(), is_inner_.begin() + static_cast<std::ptrdiff_t>(count) - until_end, true);
  }

  /// `begin` may be beyond the end.
  void copy_in(std::size_t begin, std::span<const std::byte> part) {
    std::byte* const bytes = memory_.start + RingMemory::head_bytes;
    begin = memory_.wrapped(begin);
    const std::size_t first = std::min(part.size(), memory_.capacity - begin);
    if (first > 0) {
      std::memcpy(bytes + begin, part.data(), first);
    }
    if (first < part.size()) [[unlikely]] {
      std::memcpy(bytes, part.data() + first, part.size() - first);
    }
  }

  RingMemory memory_;
  std::size_t offset_ = 0;      ///< Of the next record.
  std::uint64_t written_ = 0;   ///< Bytes of all records so far.
  std::uint64_t read_ = 0;      ///< The same of those read, as last heard.
  std::vector<bool> is_inner_;  ///< Of each line, whether a record has written to it that did not start there.
};

/// The receiver's end. One thread.
class RingReader {
 public:
  RingReader() = default;
  explicit RingReader(const RingMemory& memory) : memory_{memory}, publish_every_{memory.capacity / 8} {}

  /// Of the oldest record; 0 when there is none.
  template <Showing showing>
  [[nodiscard]] std::size_t size() const {
    // With release in RingWriter::put(); seq_cst so that it cannot overtake the clearing of the flags.
    return memory_.size_at(offset_).load(showing == Showing::flagged ? std::memory_order_seq_cst
                                                                     : std::memory_order_acquire);
  }

  /// The bytes of the oldest record, whose size is `size`, when it is in one piece; else nothing.
  [[nodiscard]] std::span<const std::byte> in_place(std::size_t size) const {
    const std::size_t begin = offset_ + sizeof(std::uint64_t);
    __builtin_prefetch(memory_.start + RingMemory::head_bytes + offset_ + line_bytes);
    return size <= memory_.capacity - begin ? std::span{memory_.start + RingMemory::head_bytes + begin, size}
                                            : std::span<const std::byte>{};
  }
  /// Copies the oldest record, whose size is `size`, into `packet`.
  void copy_out(std::size_t size, Packet& packet) const {
    const std::byte* const bytes = memory_.start + RingMemory::head_bytes;
    const std::size_t begin = offset_ + sizeof(std::uint64_t);
    const std::size_t first = std::min(size, memory_.capacity - begin);
    packet.resize(size);
    std::memcpy(packet.data(), bytes + begin, first);
    std::memcpy(packet.data() + first, bytes, size - first);
  }
  /// Goes on to the next record. The memory of this one, whose size is `size`, stays until `give_back`.
  void skip(std::size_t size) {
    const std::size_t record = RingMemory::record_bytes(size);
    memory_.size_at(offset_).store(0, std::memory_order_relaxed);  // before the release in give_back()
    offset_ = memory_.wrapped(offset_ + record);
    read_ += record;
  }
  /// Leaves the memory of what was read to the sender: when it is much, or all that there is.
  void give_back() {
    if (read_ - published_ >= publish_every_ || size<Showing::polled>() == 0) {
      memory_.bytes_read().store(read_, std::memory_order_release);  // with acquire in RingWriter::has_room_now()
      published_ = read_;
    }
  }

 private:
  RingMemory memory_;
  std::size_t offset_ = 0;
  std::size_t publish_every_ = 0;  ///< In bytes: each publication takes a line away from the sender.
  std::uint64_t read_ = 0;
  std::uint64_t published_ = 0;
};

}  // namespace plait::net::detail::shm
