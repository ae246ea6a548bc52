// SPDX-License-Identifier: Apache-2.0
#include "plait/net/ofi/detail/bulk_sends.hpp"

#include <algorithm>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "plait/base/error.hpp"
#include "plait/net/ofi/detail/call.hpp"

namespace plait::net::detail::ofi {
namespace {

std::uint64_t place_of(Rank peer, std::uint32_t slot) {
  return std::uint64_t{peer.value()} << 32U | slot;
}

}  // namespace

BulkSends::BulkSends(Fabric& fabric, Peers& peers, const Limits& limits)
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

Post BulkSends::start(const BulkSend& bulk) {
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

void BulkSends::note_ready(Rank peer, const Ready& ready) {
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

void BulkSends::post_chunks(std::size_t index) {
  const Transfer& transfer = transfers_[index];
  while (!transfer.has_failed && transfer.chunks_posted < limits_.chunks_in_flight &&
         transfer.bytes_posted < transfer.bulk.data.size()) {
    if (post_chunk(index) == Post::retry) {
      was_refused_ = true;
      return;
    }
  }
}

Post BulkSends::post_chunk(std::size_t index) {
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

void BulkSends::note_written(const Operation& operation, std::vector<BulkDone>& done) {
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

void BulkSends::note_failed(const Operation& operation) {
  const std::size_t index = chunks_[operation.index].transfer;
  Transfer& transfer = transfers_[index];
  free_chunks_.push_back(operation.index);
  --transfer.chunks_posted;
  transfer.has_failed = true;
  forget(index);
}

/// Frees a transfer, unless some of its chunks are still under way.
void BulkSends::forget(std::size_t index) {
  Transfer& transfer = transfers_[index];
  if (transfer.chunks_posted == 0) {
    transfer.is_active = false;
    free_.push_back(index);
    --active_count_;
  }
}

void BulkSends::post_refused() {
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

void BulkSends::require_receivers() const {
  for (const Transfer& transfer : transfers_) {
    if (transfer.is_active && !peers_.can_reach(transfer.bulk.to)) {
      peer_is_lost(transfer.bulk.to, "it has ended its driver before it took what is sent to it");
    }
  }
}

}  // namespace plait::net::detail::ofi
