// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "plait/base/id.hpp"
#include "plait/net/driver.hpp"

namespace plait::net {

/// How a driver uses a library that transfers messages (MPI, libfabric). The same on all ranks.
struct TransferOptions {
  /// Below 2 GiB. A packet above the library's own eager limit is slower, never wrong.
  std::size_t packet_bytes_max = 8192;
  /// The most that the mpi driver copies and sends at once: more than a packet travels in several messages of
  /// `message_bytes_max`. 0: a packet.
  std::size_t copied_bytes_max = 0;
  /// The mpi driver's longest message with packets: longer ones are copied into several. Each posted receive has a
  /// buffer of this size. 0: a packet.
  std::size_t message_bytes_max = 0;
  /// Receives kept posted for packets from any rank.
  std::uint32_t receives_posted = 64;
  /// Packets that the library has not sent yet; beyond, `send` returns `retry`.
  std::uint32_t sends_in_flight_max = 32;
  /// Memory of the library for unpolled packets from all peers together: bounds `packets_in_flight_max()`, between 2
  /// and 32.
  std::size_t unexpected_bytes_max = std::size_t{64} * 1024 * 1024;
  /// At most 32767, which is what MPI promises of its tags.
  std::uint32_t bulk_slot_count = 16;
  /// Bulk data in flight from one peer: on TCP, packets wait behind it. Half a megabyte keeps 1 Gbit/s busy for 4 ms,
  /// 100 Gbit/s for 40 us.
  std::size_t bulk_in_flight_max = std::size_t{512} * 1024;
  /// Bulk sends in flight; beyond, `send_bulk` returns `retry`.
  std::uint32_t bulk_sends_max = 16;
  /// Bulk data is divided into chunks of this size, below 2 GiB, of which `bulk_chunks_in_flight` are in flight.
  std::size_t bulk_chunk_bytes = std::size_t{4} * 1024 * 1024;
  std::uint32_t bulk_chunks_in_flight = 2;
  /// The mpi driver does not divide bulk data of at least this size, below 2 GiB.
  std::size_t bulk_undivided_min = std::size_t{1} << 31U;

  /// The traits of a driver with these options. Throws: `Error` with `bad_argument` for invalid options; `driver`
  /// begins the sentence.
  [[nodiscard]] DriverTraits traits(const char* driver, Rank self, std::uint32_t rank_count) const;
};

}  // namespace plait::net
