// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mpi.h>

#include "plait/net/driver.hpp"
#include "plait/net/mpi/detail/call.hpp"
#include "plait/net/mpi/detail/give_up.hpp"

namespace plait::net::detail {

/// The bulk transfers of one direction: each is cut into chunks, of which a few are with MPI.
class BulkTransfers {
 public:
  struct Limits {
    std::uint32_t transfers_max = 0;
    std::uint32_t chunks_in_flight = 0;  ///< Of one transfer.
    std::size_t chunk_bytes = 0;
    std::size_t undivided_min = 0;  ///< Transfers of at least this size are one chunk.
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

  BulkTransfers(MPI_Comm communicator, TransferDirection direction, const Limits& limits)
      : communicator_{communicator},
        direction_{direction},
        limits_{limits},
        transfers_(limits.transfers_max),
        over_(std::size_t{limits.transfers_max} * limits.chunks_in_flight) {
    requests_.reserve(over_.size());
    chunks_.reserve(over_.size());
    for (std::size_t index = limits.transfers_max; index-- > 0;) {
      free_.push_back(index);
    }
  }

  /// Posts the first chunks, or answers `retry` when as many transfers as possible are under way.
  [[nodiscard]] Post start(const Transfer& transfer) {
    if (free_.empty()) {
      return Post::retry;
    }
    const std::size_t index = free_.back();
    free_.pop_back();
    ++active_count_;
    transfers_[index] = transfer;
    for (std::uint32_t i = 0; i < limits_.chunks_in_flight; ++i) {
      post_chunk(index);
    }
    return Post::posted;
  }

  /// Posts the next chunks where some are over, and appends transfers that have ended to `done`.
  void progress(std::vector<BulkDone>& done) {
    const std::span<int> over = test_some(requests_, over_, "MPI_Testsome (bulk)");
    // New chunks are posted after the gaps are filled.
    for (int& index : over) {
      const auto gap = static_cast<std::size_t>(index);
      const Chunk chunk = chunks_[gap];
      requests_[gap] = requests_.back();
      chunks_[gap] = chunks_.back();
      requests_.pop_back();
      chunks_.pop_back();
      transfers_[chunk.transfer].bytes_over += chunk.bytes;
      index = static_cast<int>(chunk.transfer);
    }
    for (const int index : over) {
      const auto number = static_cast<std::size_t>(index);
      Transfer& transfer = transfers_[number];
      if (transfer.bytes_over < transfer.bytes) {
        post_chunk(number);
      } else if (transfer.bytes > 0) {
        done.push_back({direction_, transfer.cookie});
        transfer = Transfer{};  // of two chunks that ended together the second finds no bytes
        free_.push_back(number);
        --active_count_;
      }
    }
  }

  [[nodiscard]] bool is_empty() const noexcept { return active_count_ == 0; }

  /// Abandons all. The buffers of transfers that MPI could not end may still be used.
  void close(GiveUpTime deadline) noexcept {
    for (MPI_Request& request : requests_) {
      if (direction_ == TransferDirection::received && request != MPI_REQUEST_NULL) {
        MPI_Cancel(&request);
      }
    }
    for (MPI_Request& request : requests_) {
      if (request != MPI_REQUEST_NULL) {
        static_cast<void>(ends_before(request, deadline));
      }
    }
  }

 private:
  static constexpr std::size_t bytes_of_message_max = INT_MAX;

  /// Hands the next chunk of a transfer to MPI, if it has one left.
  void post_chunk(std::size_t index) {
    Transfer& transfer = transfers_[index];
    const std::size_t bytes_max = transfer.bytes >= limits_.undivided_min ? bytes_of_message_max : limits_.chunk_bytes;
    const std::size_t bytes = std::min(bytes_max, transfer.bytes - transfer.bytes_posted);
    if (bytes == 0) {
      return;
    }
    std::byte* place = transfer.data + transfer.bytes_posted;
    const int peer = static_cast<int>(transfer.peer.value());
    const int tag = static_cast<int>(transfer.slot.value());
    MPI_Request request = MPI_REQUEST_NULL;
    if (direction_ == TransferDirection::sent) {
      check_mpi(MPI_Isend(place, static_cast<int>(bytes), MPI_BYTE, peer, tag, communicator_, &request),
                "MPI_Isend (bulk)",
                transfer.peer);
    } else {
      check_mpi(MPI_Irecv(place, static_cast<int>(bytes), MPI_BYTE, peer, tag, communicator_, &request),
                "MPI_Irecv (bulk)",
                transfer.peer);
    }
    // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): tested in progress(), ended in close()
    transfer.bytes_posted += bytes;
    requests_.push_back(request);
    chunks_.push_back({index, bytes});
  }

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
