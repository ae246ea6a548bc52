// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "plait/net/detail/copy_buffers.hpp"
#include "plait/net/shared_copies.hpp"
#include "plait/net/shm/detail/ring.hpp"

namespace plait::net::detail::shm {

/// The bulk slot of a receiver: a cache line that is set once for each transfer, and one with counters of both sides.
///
/// With single copy, both sides copy pieces when they poll. `claim` has the number of the transfer in its upper half,
/// and the next piece, or a value below, in the lower one. A compare-and-exchange takes a piece, and fails for a
/// transfer that has ended. With a buffer, the sender counts bytes put in, the receiver bytes taken out.
struct BulkPlace {
  static constexpr std::uint32_t awaits_sender = 0xffffffff;
  static constexpr std::uint32_t given_up = 0xfffffffe;  ///< By a side that has ended.

  std::uint32_t from;
  std::uint32_t reserved;
  std::uint64_t bytes;
  std::uint64_t buffer;  ///< Address at the receiver.
  std::uint64_t data;    ///< Address at the sender.
  std::uint64_t unused[4];

  alignas(line_bytes) std::uint64_t claim;
  std::uint64_t moved;  ///< Bytes copied by either side; through a buffer: put in.
  std::uint64_t taken;  ///< Through a buffer only: bytes taken out.
  std::uint64_t unused_too[5];

  [[nodiscard]] static constexpr std::uint64_t claim_of(std::uint32_t number, std::uint32_t piece) {
    return (std::uint64_t{number} << 32U) | piece;
  }
  [[nodiscard]] static constexpr std::uint32_t number_in(std::uint64_t claim) {
    return static_cast<std::uint32_t>(claim >> 32U);
  }
  [[nodiscard]] static constexpr std::uint32_t piece_in(std::uint64_t claim) {
    return static_cast<std::uint32_t>(claim);
  }
};
static_assert(sizeof(BulkPlace) == 2 * line_bytes, "no two places share a line");

/// How the segment is divided: head, ranks, rings, bulk places, buffers for bulk data, shared copies.
struct Layout {
  std::uint32_t rank_count = 0;
  std::uint32_t slot_count = 0;
  std::size_t ring_bytes = 0;    ///< Capacity of each ring.
  std::size_t buffer_bytes = 0;  ///< Of each bulk place; 0 with single copy.
  SharedCopyOptions copies;

  // The counter of who has the mapping, alone in its line.
  static constexpr std::size_t head_bytes = 2 * line_bytes;

  /// For each rank: a line with whether it has ended, one with whether it sleeps, and one bit for each rank that has
  /// written to it.
  [[nodiscard]] std::size_t rank_bytes() const {
    return 2 * line_bytes + round_up((rank_count + 7) / 8, 2 * line_bytes);
  }
  /// An odd number of lines, so that equal places in rings do not all fall into the same set of a cache.
  [[nodiscard]] std::size_t ring_stride() const {
    return RingMemory::head_bytes + round_up(ring_bytes, 2 * line_bytes) + 3 * line_bytes;
  }
  [[nodiscard]] std::size_t rings_at() const { return round_up(head_bytes + rank_count * rank_bytes(), 4096); }
  [[nodiscard]] std::size_t places_at() const {
    return round_up(rings_at() + std::size_t{rank_count} * rank_count * ring_stride(), 4096);
  }
  [[nodiscard]] std::size_t buffers_at() const {
    return round_up(places_at() + std::size_t{rank_count} * slot_count * sizeof(BulkPlace), 4096);
  }
  [[nodiscard]] std::size_t copies_at() const {
    return round_up(buffers_at() + std::size_t{rank_count} * slot_count * buffer_bytes, 4096);
  }
  [[nodiscard]] std::size_t total_bytes() const {
    return round_up(copies_at() + CopyBuffers::total_bytes(rank_count, copies), 4096);
  }
};

/// The parts of a mapped segment.
class Segment {
 public:
  Segment(std::byte* start, const Layout& layout) : start_{start}, layout_{layout} {}

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] std::byte* start() const { return start_; }
  /// Ranks of the process that made the segment and share its mapping.
  [[nodiscard]] std::atomic_ref<std::uint64_t> user_count() const { return word(0); }
  [[nodiscard]] std::atomic_ref<std::uint64_t> has_left(std::uint32_t rank) const { return word(rank_at(rank)); }
  /// 1 while a thread of the rank sleeps, or is about to, until a sender wakes it. Not written while none sleeps,
  /// so that all senders have the line.
  [[nodiscard]] std::uint32_t& sleeps(std::uint32_t rank) const {
    return *reinterpret_cast<std::uint32_t*>(start_ + rank_at(rank) + line_bytes);
  }
  /// Bits of 64 senders to `receiver`, of the `index`th 64.
  [[nodiscard]] std::atomic_ref<std::uint64_t> flags(std::uint32_t receiver, std::uint32_t index) const {
    return word(rank_at(receiver) + 2 * line_bytes + index * sizeof(std::uint64_t));
  }
  [[nodiscard]] RingMemory ring(std::uint32_t sender, std::uint32_t receiver) const {
    const std::size_t index = std::size_t{receiver} * layout_.rank_count + sender;
    return {start_ + layout_.rings_at() + index * layout_.ring_stride(), layout_.ring_bytes};
  }
  [[nodiscard]] BulkPlace& place(std::uint32_t receiver, std::uint32_t slot) const {
    return reinterpret_cast<BulkPlace*>(start_ + layout_.places_at())[index_of(receiver, slot)];
  }
  [[nodiscard]] std::byte* copies() const { return start_ + layout_.copies_at(); }
  [[nodiscard]] std::byte* buffer(std::uint32_t receiver, std::uint32_t slot) const {
    return start_ + layout_.buffers_at() + index_of(receiver, slot) * layout_.buffer_bytes;
  }

 private:
  [[nodiscard]] std::size_t rank_at(std::uint32_t rank) const {
    return Layout::head_bytes + rank * layout_.rank_bytes();
  }
  [[nodiscard]] std::size_t index_of(std::uint32_t receiver, std::uint32_t slot) const {
    return std::size_t{receiver} * layout_.slot_count + slot;
  }
  [[nodiscard]] std::atomic_ref<std::uint64_t> word(std::size_t at) const {
    return std::atomic_ref{*reinterpret_cast<std::uint64_t*>(start_ + at)};
  }

  std::byte* start_;
  Layout layout_;
};

}  // namespace plait::net::detail::shm
