// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mpi.h>

#include "plait/net/driver.hpp"
#include "plait/net/mpi/detail/give_up.hpp"

namespace plait::net::detail {

/// The bulk transfers of one direction: each is cut into chunks, of which a few are with MPI.
class BulkTransfers {
 public:
  struct Limits {
    std::uint32_t transfers_max = 0;
    std::uint32_t chunks_in_flight = 0;  ///< Of one transfer.
    std::size_t chunk_bytes = 0;
  };
  struct Transfer {
    Rank peer;
    BulkSlot slot;
    std::byte* data = nullptr;  ///< Only read when sent.
    std::size_t bytes = 0;
    std::uint64_t cookie = 0;
    std::size_t bytes_posted = 0;
    std::size_t bytes_over = 0;
  };

  BulkTransfers(MPI_Comm communicator, TransferDirection direction, const Limits& limits);

  /// Posts the first chunks, or answers `retry` when as many transfers as possible are under way.
  [[nodiscard]] Post start(const Transfer& transfer);
  /// Posts the next chunks where some are over, and appends transfers that have ended to `done`.
  void progress(std::vector<BulkDone>& done);
  [[nodiscard]] bool is_empty() const noexcept { return active_count_ == 0; }

  /// Abandons all. The buffers of transfers that MPI could not end may still be used.
  void close(GiveUpTime deadline) noexcept;

 private:
  void post_chunk(std::size_t index);

  MPI_Comm communicator_;
  TransferDirection direction_;
  Limits limits_;
  std::vector<Transfer> transfers_;
  std::vector<std::size_t> free_;  ///< Indices of unused transfers.
  std::size_t active_count_ = 0;
  // Of equal length: each chunk under way, its transfer and its size.
  struct Chunk {
    std::size_t transfer;
    std::size_t bytes;
  };
  std::vector<MPI_Request> requests_;
  std::vector<Chunk> chunks_;
  std::vector<int> over_;
};

}  // namespace plait::net::detail
