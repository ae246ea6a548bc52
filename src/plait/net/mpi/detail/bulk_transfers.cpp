// SPDX-License-Identifier: Apache-2.0
#include "plait/net/mpi/detail/bulk_transfers.hpp"

#include <algorithm>
#include <functional>

#include "plait/net/mpi/detail/call.hpp"

namespace plait::net::detail {

BulkTransfers::BulkTransfers(MPI_Comm communicator, TransferDirection direction, const Limits& limits)
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

Post BulkTransfers::start(const Transfer& transfer) {
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

/// Hands the next chunk of a transfer to MPI, if it has one left.
void BulkTransfers::post_chunk(std::size_t index) {
  Transfer& transfer = transfers_[index];
  const std::size_t bytes = std::min(limits_.chunk_bytes, transfer.bytes - transfer.bytes_posted);
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

void BulkTransfers::progress(std::vector<BulkDone>& done) {
  int over_count = 0;
  check_mpi(MPI_Testsome(
                static_cast<int>(requests_.size()), requests_.data(), &over_count, over_.data(), MPI_STATUSES_IGNORE),
            "MPI_Testsome (bulk)");
  if (over_count <= 0) {
    return;
  }
  // From the highest index, so that what fills a gap from the end is itself not over. New chunks
  // are posted after the gaps are filled.
  const std::span<int> over{over_.data(), static_cast<std::size_t>(over_count)};
  std::ranges::sort(over, std::greater{});
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

void BulkTransfers::close(GiveUpTime deadline) noexcept {
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

}  // namespace plait::net::detail
