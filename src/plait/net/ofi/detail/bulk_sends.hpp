// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "plait/net/driver.hpp"
#include "plait/net/ofi/detail/fabric.hpp"
#include "plait/net/ofi/detail/operation.hpp"
#include "plait/net/ofi/detail/peers.hpp"

namespace plait::net::detail::ofi {

/// Where the sender writes, in which chunks: from the receiver. Sent as it is in memory.
struct Ready {
  std::uint64_t address = 0;  ///< The buffer's, or 0 where a provider counts from the buffer's start.
  std::uint64_t key = 0;
  std::uint64_t bytes = 0;
  std::uint64_t chunk_bytes = 0;
  std::uint32_t slot = 0;
  std::uint32_t unused = 0;
};
static_assert(sizeof(Ready) == 40, "small enough to be copied at once by every provider");

/// Bulk data written into the memory of others: a bounded number of transfers, of each a few chunks at once.
///
/// Each chunk notifies the receiver by a word that completes after the data, so neither the order of
/// chunks nor that of messages and writes counts. The receiver's `Ready` may come before or after the send.
class BulkSends {
 public:
  struct Limits {
    std::uint32_t transfers_max = 0;
    std::uint32_t chunks_in_flight = 0;  ///< Of one transfer.
  };

  /// Borrows both.
  BulkSends(Fabric& fabric, Peers& peers, const Limits& limits);

  /// As `Driver::send_bulk`.
  [[nodiscard]] Post start(const BulkSend& bulk);
  /// A receiver is ready. Throws: `Error` when it is for another number of bytes than what is sent.
  void note_ready(Rank peer, const Ready& ready);
  /// A chunk is written; appends its transfer to `done` if it was the last.
  void note_written(const Operation& operation, std::vector<BulkDone>& done);
  /// A chunk will never leave: its transfer is forgotten when none of its chunks is under way.
  void note_failed(const Operation& operation);
  /// Posts what the full queues of libfabric refused before.
  void post_refused();
  /// Throws: `Error` with `network` when a receiver has ended its driver.
  void require_receivers() const;
  [[nodiscard]] bool is_empty() const noexcept { return active_count_ == 0; }

 private:
  struct Transfer {
    BulkSend bulk;
    Ready ready;
    bool is_active = false;
    bool has_ready = false;
    bool has_failed = false;
    std::uint32_t chunks_posted = 0;
    std::size_t bytes_posted = 0;
  };
  struct Chunk {
    Operation operation;
    std::size_t transfer = 0;
  };

  void post_chunks(std::size_t index);
  [[nodiscard]] Post post_chunk(std::size_t index);
  void forget(std::size_t index);

  Fabric& fabric_;
  Peers& peers_;
  Limits limits_;
  std::vector<Transfer> transfers_;
  std::vector<std::size_t> free_;  ///< Indices of unused transfers.
  std::size_t active_count_ = 0;
  std::vector<Chunk> chunks_;  ///< Does not grow: libfabric knows the places.
  std::vector<std::size_t> free_chunks_;
  bool was_refused_ = false;
  /// Received before there was anything to send, by peer and slot; at most one for each slot of each peer.
  std::unordered_map<std::uint64_t, Ready> early_;
};

}  // namespace plait::net::detail::ofi
