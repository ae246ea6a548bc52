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
  /// Up to so many ranks, a receiver polls the ring of each; with more, senders raise flags for it, which costs an
  /// exclusive access for each packet to a rank that has nothing else to read.
  std::uint32_t look_at_all_ranks_max = 16;
  /// How often a few of the other processes are checked to be alive.
  nanoseconds watch_interval = std::chrono::milliseconds{100};
  /// What the ranks are called in sentences about them, when they are part of a larger network; empty = as here.
  std::vector<Rank> called;
};

/// Creates a driver between the processes of one machine, through memory that they share; name "shm", or
/// "shm (two copies)".
///
/// Packets: a ring for each pair of ranks and direction, with one copy in and one out; no locks. A full ring refuses,
/// so other memory is never used. Bulk data: copied once, in segments, by the side that polls, both at a time if both
/// do; a transfer continues while one of them computes. Nothing is left in /dev/shm when a job is killed: the segment
/// has no name once all ranks have it. Where the system lets only parents access a process's memory (yama's
/// ptrace_scope 1), single copy allows it to all processes of this user.
///
/// Cost: one copy of a packet on each side. A poll tests each ring, or one bit for each rank, and copies up to
/// `bulk_piece_bytes_max` of bulk data, as does `send_bulk`.
///
/// Collective over all ranks: created on all or throws on all. `exchange` is used during the call, four times. The
/// destructor gives up what is still in flight, and waits for a peer that is copying, a second at most. Threads: one at
/// a time; the drivers of several ranks in one process are used by different threads at once.
///
/// Throws: `Error` with `bad_argument` for invalid options; `io`, with what to do, when the machine does not provide
/// the memory, or when a rank cannot see the process or the memory of another. The driver throws `network` with the
/// peer when the peer's process has ended without ending its driver (4 peers are checked every `watch_interval`), or
/// has ended its driver while bulk data, or a full ring, was in flight to it. A peer that ends its driver otherwise is
/// no error; packets to it vanish.
[[nodiscard]] std::unique_ptr<Driver> make_shm_driver(Rank self,
                                                      std::uint32_t rank_count,
                                                      const Exchange& exchange,
                                                      const ShmOptions& options = {});

}  // namespace plait::net
