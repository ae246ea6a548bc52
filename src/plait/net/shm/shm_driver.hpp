// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/net/driver.hpp"
#include "plait/net/exchange.hpp"
#include "plait/net/shared_copies.hpp"

namespace plait::net {

/// Whether the kernel may copy bulk data from process to process at once (cross-memory attach).
enum class SingleCopy : std::uint8_t {
  automatic,  ///< If a trial at the start succeeds on all ranks; else as `never`.
  never,      ///< Through a buffer in the segment: a copy on each side, overlapped.
};

/// All ranks must use the same, except `called`.
struct ShmOptions {
  std::size_t packet_bytes_max = 8192;
  /// Each pair of ranks has a ring for each direction, of
  ///     min(ring_bytes_max, max(ring_memory_bytes_max / ranks, two of the largest packets)).
  /// All rings to one rank stay within `ring_memory_bytes_max` up to about 120 ranks.
  std::size_t ring_bytes_max = std::size_t{256} * 1024;
  std::size_t ring_memory_bytes_max = std::size_t{2} * 1024 * 1024;
  std::uint32_t bulk_slot_count = 16;
  /// Most bulk data that one `poll` or `send_bulk` copies, in bytes.
  std::size_t bulk_piece_bytes_max = std::size_t{256} * 1024;
  /// Buffer of each bulk slot without single copy.
  std::size_t bounce_bytes = std::size_t{128} * 1024;
  SingleCopy single_copy = SingleCopy::automatic;
  /// Of each rank, for `Driver::shared_copies`.
  SharedCopyOptions shared_copies{.count = 4, .bytes_max = std::size_t{64} * 1024};
  /// Up to so many ranks, a receiver polls all rings. With more, senders also set flags, which costs an atomic update
  /// for each packet to an idle rank.
  std::uint32_t look_at_all_ranks_max = 16;
  /// Interval between checks whether a few other processes are alive.
  nanoseconds watch_interval = std::chrono::milliseconds{100};
  /// The ranks' names in error messages, when they are part of a larger network; empty: as here.
  std::vector<Rank> called;
};

/// Creates a driver between the processes of one host over shared memory; its name is "shm" or "shm (two copies)".
///
/// Packets use a lock-free ring for each pair of ranks and direction; a full ring returns `retry`. Bulk data is copied
/// once, in pieces, by the sides that poll, so a transfer continues while one side computes. Nothing is left in
/// /dev/shm when a job is killed: the segment is unlinked once all ranks have opened it. Where only parents may access
/// a process's memory (yama's ptrace_scope 1), single copy permits it to all processes of this user.
///
/// Cost: one copy of a packet on each side. A poll tests each ring, or one bit for each rank, and copies up to
/// `bulk_piece_bytes_max` of bulk data, as does `send_bulk`.
///
/// Collective over all ranks: succeeds or throws on all. Calls `exchange` four times. The destructor abandons what is
/// still in flight, and waits at most a second for a peer that is copying. Threads: one at a time for each driver.
///
/// Throws: `Error` with `bad_argument` for invalid options; `io` when the host does not provide the memory, or a rank
/// cannot access the process or memory of another. The driver throws `network` with the peer when the peer's process
/// has ended without ending its driver (4 peers are checked every `watch_interval`), or has ended its driver while bulk
/// data or a full ring was in flight to it. Otherwise the end of a peer is no error; packets to it are dropped.
[[nodiscard]] std::unique_ptr<Driver> make_shm_driver(Rank self,
                                                      std::uint32_t rank_count,
                                                      const Exchange& exchange,
                                                      const ShmOptions& options = {});

}  // namespace plait::net
