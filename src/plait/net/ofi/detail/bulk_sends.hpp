// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <unordered_map>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/net/driver.hpp"
#include "plait/net/ofi/detail/call.hpp"
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

/// Writes bulk data into the memory of peers, with a bounded number of transfers and of chunks of each.
///
/// Each chunk completes at the receiver with a word, so no order of chunks or messages is needed. The receiver's
/// `Ready` may arrive before or after the send.
class BulkSends {
 public:
  struct Limits {
    std::uint32_t transfers_max = 0;
    std::uint32_t chunks_in_flight = 0;  ///< Of one transfer.
  };

  /// Borrows both.
  BulkSends(Fabric& fabric, Peers& peers, const Limits& limits)
      : fabric_{fabric},
        peers_{peers},
        limits_{limits},
        transfers_(limits.transfers_max),
        chunks_(std::size_t{limits.transfers_max} * limits.chunks_in_flight) {
    for (std::size_t index = transfers_.size(); index-- > 0;) {
      free_.push_back(index);
    }
    for (std::size_t index = chunks_.size(); index-- > 0;) {
      chunks_[index].operation.kind = Operation::Kind::chunk;
      chunks_[index].operation.index = index;
      free_chunks_.push_back(index);
    }
  }

  /// As `Driver::send_bulk`.
  [[nodiscard]] Post start(const BulkSend& bulk) {
    if (!peers_.can_reach(bulk.to)) {
      peer_is_lost(bulk.to, "it has ended its driver, and receives nothing");
    }
    if (free_.empty()) {
      return Post::retry;
    }
    const std::size_t index = free_.back();
    free_.pop_back();
    ++active_count_;
    Transfer& transfer = transfers_[index];
    transfer = Transfer{.bulk = bulk, .is_active = true};
    const auto early = early_.find(place_of(bulk.to, bulk.slot.value()));
    if (early != early_.end()) {
      const Ready ready = early->second;
      early_.erase(early);
      transfer.has_ready = true;
      transfer.ready = ready;
      expect(ready.bytes == bulk.data.size(), "the receiver's buffer is as long as the data");
      post_chunks(index);
    }
    return Post::posted;
  }

  /// A receiver is ready. Throws: `Error` when it is for another number of bytes than what is sent.
  void note_ready(Rank peer, const Ready& ready) {
    for (std::size_t index = 0; index < transfers_.size(); ++index) {
      Transfer& transfer = transfers_[index];
      if (transfer.is_active && !transfer.has_ready && transfer.bulk.to == peer &&
          transfer.bulk.slot.value() == ready.slot) {
        expect(ready.bytes == transfer.bulk.data.size(), "the receiver's buffer is as long as the data");
        transfer.has_ready = true;
        transfer.ready = ready;
        post_chunks(index);
        return;
      }
    }
    early_.insert_or_assign(place_of(peer, ready.slot), ready);
  }

  /// A chunk is written; appends its transfer to `done` if it was the last.
  void note_written(const Operation& operation, std::vector<BulkDone>& done) {
    const std::size_t index = chunks_[operation.index].transfer;
    Transfer& transfer = transfers_[index];
    free_chunks_.push_back(operation.index);
    --transfer.chunks_posted;
    if (transfer.has_failed) {
      forget(index);
    } else if (transfer.bytes_posted < transfer.bulk.data.size()) {
      post_chunks(index);
    } else if (transfer.chunks_posted == 0) {
      done.push_back({TransferDirection::sent, transfer.bulk.cookie});
      forget(index);
    }
  }

  /// A chunk will never leave: its transfer is forgotten when none of its chunks is under way.
  void note_failed(const Operation& operation) {
    const std::size_t index = chunks_[operation.index].transfer;
    Transfer& transfer = transfers_[index];
    free_chunks_.push_back(operation.index);
    --transfer.chunks_posted;
    transfer.has_failed = true;
    forget(index);
  }

  /// Posts what the full queues of libfabric refused before.
  void post_refused() {
    if (!was_refused_) {
      return;
    }
    was_refused_ = false;
    for (std::size_t index = 0; index < transfers_.size(); ++index) {
      if (transfers_[index].is_active && transfers_[index].has_ready) {
        post_chunks(index);
      }
    }
  }

  /// Throws: `Error` with `network` when a receiver has ended its driver.
  void require_receivers() const {
    for (const Transfer& transfer : transfers_) {
      if (transfer.is_active && !peers_.can_reach(transfer.bulk.to)) {
        peer_is_lost(transfer.bulk.to, "it has ended its driver before it took what is sent to it");
      }
    }
  }

  [[nodiscard]] bool is_empty() const noexcept { return active_count_ == 0; }

 private:
  static std::uint64_t place_of(Rank peer, std::uint32_t slot) { return std::uint64_t{peer.value()} << 32U | slot; }

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

  void post_chunks(std::size_t index) {
    const Transfer& transfer = transfers_[index];
    while (!transfer.has_failed && transfer.chunks_posted < limits_.chunks_in_flight &&
           transfer.bytes_posted < transfer.bulk.data.size()) {
      if (post_chunk(index) == Post::retry) {
        was_refused_ = true;
        return;
      }
    }
  }

  [[nodiscard]] Post post_chunk(std::size_t index) {
    Transfer& transfer = transfers_[index];
    Chunk& chunk = chunks_[free_chunks_.back()];
    const std::size_t begin = transfer.bytes_posted;
    const std::size_t bytes = std::min<std::size_t>(transfer.ready.chunk_bytes, transfer.bulk.data.size() - begin);
    const ssize_t code = fi_writedata(fabric_.endpoint(),
                                      transfer.bulk.data.data() + begin,
                                      bytes,
                                      nullptr,
                                      transfer.bulk.slot.value(),
                                      peers_.name(transfer.bulk.to),
                                      transfer.ready.address + begin,
                                      transfer.ready.key,
                                      &chunk.operation);
    if (code == -FI_EAGAIN) {
      return Post::retry;
    }
    check_ofi(code, "fi_writedata", transfer.bulk.to);
    free_chunks_.pop_back();
    chunk.operation.peer = transfer.bulk.to;
    chunk.transfer = index;
    transfer.bytes_posted += bytes;
    ++transfer.chunks_posted;
    return Post::posted;
  }

  /// Frees a transfer, unless some of its chunks are still under way.
  void forget(std::size_t index) {
    Transfer& transfer = transfers_[index];
    if (transfer.chunks_posted == 0) {
      transfer.is_active = false;
      free_.push_back(index);
      --active_count_;
    }
  }

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
