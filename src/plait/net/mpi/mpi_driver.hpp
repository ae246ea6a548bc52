// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <mpi.h>

#include "plait/net/driver.hpp"

namespace plait::net {

/// The same on all ranks.
struct MpiOptions {
  /// Above MPI's own eager limit a packet is sent by rendezvous inside MPI: slower, never wrong.
  std::size_t packet_bytes_max = 8192;
  /// Receives kept posted for packets from any rank.
  std::uint32_t receives_posted = 64;
  /// Packets that MPI has not sent yet; beyond, `send` returns `retry`.
  std::uint32_t sends_in_flight_max = 32;
  /// What unpolled packets may take in MPI's own memory, from all peers together: bounds
  /// `packets_in_flight_max()`, between 2 and 32.
  std::size_t unexpected_bytes_max = std::size_t{64} * 1024 * 1024;
  /// At most 32767, which is what MPI promises of its tags.
  std::uint32_t bulk_slot_count = 16;
  /// Bulk data from one peer on its way at once: on TCP, packets wait behind it. Half a megabyte keeps 1 Gbit/s busy
  /// for 4 ms, 100 Gbit/s for 40 us.
  std::size_t bulk_in_flight_max = std::size_t{512} * 1024;
  /// Bulk sends under way at once; beyond, `send_bulk` returns `retry`.
  std::uint32_t bulk_sends_max = 16;
  /// Bulk data is cut into messages of this size (below 2 GiB), of which so many are under way.
  std::size_t bulk_chunk_bytes = std::size_t{4} * 1024 * 1024;
  std::uint32_t bulk_chunks_in_flight = 2;
};

/// Creates a driver over any MPI, on two communicators of its own; name "mpi (Open MPI 4.1.4)".
///
/// Packets arrive through a ring of receives posted in advance for any source. These match in the order in which they
/// were posted, so only the oldest is tested, and the packet moves up by ownership, without a copy. Bulk data uses its
/// slot as tag. Cost of a poll: an MPI test of one receive, and of the sends and of the bulk transfers if there are
/// any.
///
/// Collective over `communicator`, which is borrowed for the call. MPI must be initialised. Destroy the driver on all
/// ranks, when nothing is in flight: it then gives up what still is, after at most a second, and never waits for a
/// peer. It calls no MPI after MPI_Finalize.
///
/// Threads: one at a time (MPI_THREAD_SERIALIZED), or always the same (MPI_THREAD_FUNNELED).
/// Throws: `Error` with `bad_argument` for invalid options; as the driver, with `network` and MPI's own words when an
/// MPI call fails.
[[nodiscard]] std::unique_ptr<Driver> make_mpi_driver(MPI_Comm communicator, const MpiOptions& options = {});

}  // namespace plait::net
