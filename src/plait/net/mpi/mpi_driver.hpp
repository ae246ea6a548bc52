// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <mpi.h>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/net/driver.hpp"

namespace plait::net {

/// The same on all ranks.
struct MpiOptions {
  /// Above MPI's own eager limit a packet is sent by rendezvous inside MPI: slower, never wrong.
  std::size_t packet_bytes_max = 8192;
  /// Receives kept posted for packets from any rank.
  std::uint32_t receives_posted = 64;
  /// Packets handed to MPI that have not left yet; beyond, `send` answers `retry`.
  std::uint32_t sends_in_flight_max = 32;
  /// What packets that nobody polls may take in MPI's own memory, from all peers together: bounds
  /// `packets_in_flight_max()`, between 2 and 32.
  std::size_t unexpected_bytes_max = std::size_t{64} * 1024 * 1024;
  /// At most 32767, which is what MPI promises of its tags.
  std::uint32_t bulk_slot_count = 16;
  /// Bulk data from one peer on its way at once: on TCP, packets wait behind it. Half a megabyte keeps 1 Gbit/s busy
  /// for 4 ms, 100 Gbit/s for 40 us.
  std::size_t bulk_in_flight_max = std::size_t{512} * 1024;
  /// Bulk sends under way at once; beyond, `send_bulk` answers `retry`.
  std::uint32_t bulk_sends_max = 16;
  /// Bulk data is cut into messages of this size (below 2 GiB), of which so many are under way.
  std::size_t bulk_chunk_bytes = std::size_t{4} * 1024 * 1024;
  std::uint32_t bulk_chunks_in_flight = 2;
};

/// Moves packets and bulk data over any MPI, on two communicators of its own.
///
/// Packets come in through a ring of receives posted in advance for any source. Since these match
/// in the order in which they were posted, only the oldest is tested, and the packet moves up by
/// ownership, without a copy. Bulk data has its slot for a tag.
///
/// Threads: one at a time (MPI_THREAD_SERIALIZED), or always the same (MPI_THREAD_FUNNELED).
/// Throws: `Error` with `network` when an MPI call fails, with MPI's own words.
class MpiDriver final : public Driver {
 public:
  /// Borrows `communicator` for the call only. Collective over it. MPI must be initialised.
  /// Throws: also `Error` with `bad_argument` for options that make no sense.
  explicit MpiDriver(MPI_Comm communicator, const MpiOptions& options = {});
  MpiDriver(const MpiDriver&) = delete;
  MpiDriver& operator=(const MpiDriver&) = delete;
  MpiDriver(MpiDriver&&) = delete;
  MpiDriver& operator=(MpiDriver&&) = delete;
  /// End it on all ranks, when all is quiet. Gives up what is still in flight, waiting a second for
  /// it at most, and never for a peer. Calls no MPI after MPI_Finalize.
  ~MpiDriver() override;

  [[nodiscard]] const char* name() const noexcept override { return name_.c_str(); }
  [[nodiscard]] Rank self() const noexcept override { return self_; }
  [[nodiscard]] std::uint32_t rank_count() const noexcept override { return rank_count_; }
  [[nodiscard]] const Clock& clock() const noexcept override { return clock_; }
  [[nodiscard]] std::size_t packet_bytes_max() const noexcept override;
  [[nodiscard]] std::uint32_t packets_in_flight_max() const noexcept override;
  [[nodiscard]] std::uint32_t bulk_slot_count() const noexcept override;
  [[nodiscard]] std::size_t bulk_in_flight_max(Rank peer) const noexcept override;

  [[nodiscard]] Packet acquire() override;
  void recycle(Packet&& packet) noexcept override;
  [[nodiscard]] Post send(Rank to, Packet&& packet) override;
  [[nodiscard]] Post send_bulk(const BulkSend& bulk) override;
  [[nodiscard]] Post receive_bulk(const BulkReceive& bulk) override;
  /// Cost: an MPI test of one receive, and of the sends and of the bulk transfers if there are any.
  [[nodiscard]] Polled poll(std::span<Arrival> arrivals, std::span<BulkDone> bulk) override;
  [[nodiscard]] bool is_idle() const noexcept override;
  [[nodiscard]] bool is_busy(Rank to) const noexcept override;

 private:
  struct State;

  SteadyClock clock_;
  std::string name_;
  Rank self_;
  std::uint32_t rank_count_ = 0;
  std::unique_ptr<State> state_;
};

}  // namespace plait::net
