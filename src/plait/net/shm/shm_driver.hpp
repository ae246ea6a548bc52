// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/net/driver.hpp"
#include "plait/net/exchange.hpp"

namespace plait::net {

/// Whether the kernel may copy bulk data from process to process at once (cross-memory attach).
enum class SingleCopy : std::uint8_t {
  automatic,  ///< If all ranks may, as tried at the start; else as `never`.
  never,      ///< Through a buffer in the segment: two copies, one on each side, at the same time.
};

/// The same on all ranks, but for `called`.
struct ShmOptions {
  std::size_t packet_bytes_max = 8192;
  /// Each pair of ranks has a ring for each direction. A ring takes
  ///     min(ring_bytes_max, max(ring_memory_bytes_max / ranks, two of the largest packets)),
  /// so that all rings to one rank stay within `ring_memory_bytes_max` until there are more than about 120 ranks.
  std::size_t ring_bytes_max = std::size_t{256} * 1024;
  std::size_t ring_memory_bytes_max = std::size_t{2} * 1024 * 1024;
  std::uint32_t bulk_slot_count = 16;
  /// Most bulk data that one `poll` or `send_bulk` copies, in bytes.
  std::size_t bulk_piece_bytes_max = std::size_t{256} * 1024;
  /// Of each bulk slot, where single copy is not possible.
  std::size_t bounce_bytes = std::size_t{128} * 1024;
  SingleCopy single_copy = SingleCopy::automatic;
  /// Up to so many ranks a receiver looks at the ring of each; with more, senders raise flags for it, which costs an
  /// exclusive access for each packet to a rank that has nothing else to read.
  std::uint32_t look_at_all_ranks_max = 16;
  /// How often it is looked whether a few of the other processes still live.
  nanoseconds watch_interval = std::chrono::milliseconds{100};
  /// What the ranks are called in sentences about them, when they are part of a larger network; empty = as here.
  std::vector<Rank> called;
};

/// Moves packets and bulk data between the processes of one machine through memory that they share.
///
/// Packets: a ring for each pair of ranks and direction, with one copy in and one out; no locks. Bulk data: copied
/// once, in pieces, by whichever of both sides polls, both at a time if both do; so a transfer goes on while one of
/// them is computing. Nothing is left in /dev/shm when a job is killed: the segment has no name once all ranks have it.
/// Where the system keeps processes from each other's memory but for their parents (yama's ptrace_scope 1), single copy
/// makes it let all processes of this user in.
///
/// Memory: see `bytes_of_segment`. Threads: one at a time; the drivers of several ranks in one process are used by
/// different threads at once.
/// Throws: `Error` with `network` and the peer, from any call but the destructor: when a peer's process has ended
/// without ending its driver, as is seen by the time given by `watch_interval` and 4 peers at a time, or when a peer
/// has ended its driver with bulk data, or a full ring, in flight to it. A peer that ends its driver with less is no
/// error; packets to it vanish.
class ShmDriver final : public Driver {
 public:
  /// Collective over all ranks: it is made on all or throws on all. `exchange` is used during the call, four times.
  ///
  /// Throws: `Error` with `bad_argument` for options that make no sense; `io`, with what to do, when the machine does
  /// not give the memory, or when a rank cannot see the process or the memory of another.
  ShmDriver(Rank self, std::uint32_t rank_count, const Exchange& exchange, const ShmOptions& options = {});
  ShmDriver(const ShmDriver&) = delete;
  ShmDriver& operator=(const ShmDriver&) = delete;
  ShmDriver(ShmDriver&&) = delete;
  ShmDriver& operator=(ShmDriver&&) = delete;
  /// Gives up what is still in flight; waits for a peer that is just copying, a second at most.
  ~ShmDriver() override;

  /// What all ranks of `rank_count` on one machine take together, without single copy (with it, it is less).
  [[nodiscard]] static std::size_t bytes_of_segment(std::uint32_t rank_count, const ShmOptions& options = {});

  /// "shm", or "shm (two copies)".
  [[nodiscard]] const char* name() const noexcept override;
  [[nodiscard]] Rank self() const noexcept override;
  [[nodiscard]] std::uint32_t rank_count() const noexcept override;
  [[nodiscard]] const Clock& clock() const noexcept override;
  [[nodiscard]] std::size_t packet_bytes_max() const noexcept override;
  /// Those that a ring holds: a full ring refuses, so that other memory is never used.
  [[nodiscard]] std::uint32_t packets_in_flight_max() const noexcept override;
  [[nodiscard]] std::uint32_t bulk_slot_count() const noexcept override;

  [[nodiscard]] Packet acquire() override;
  void recycle(Packet&& packet) noexcept override;
  /// Cost: one copy. Answers `done`, or `retry` when the ring is full.
  [[nodiscard]] Post send(Rank to, Packet&& packet) override;
  /// Cost: copies the first piece.
  [[nodiscard]] Post send_bulk(const BulkSend& bulk) override;
  [[nodiscard]] Post receive_bulk(const BulkReceive& bulk) override;
  /// Cost: a look at each ring, or at one bit for each rank; one copy for each packet; `bulk_piece_bytes_max` of bulk.
  [[nodiscard]] Polled poll(std::span<Arrival> arrivals, std::span<BulkDone> bulk) override;
  [[nodiscard]] bool is_idle() const noexcept override;
  /// True when the ring to that rank was full at the last attempt and has had no room since.
  [[nodiscard]] bool is_busy(Rank to) const noexcept override;

 private:
  struct State;

  SteadyClock clock_;
  std::unique_ptr<State> state_;
};

}  // namespace plait::net
