// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/net/driver.hpp"
#include "plait/net/ofi/detail/bulk_sends.hpp"
#include "plait/net/ofi/detail/call.hpp"
#include "plait/net/ofi/detail/fabric.hpp"
#include "plait/net/ofi/detail/peers.hpp"

namespace plait::net::detail::ofi {

/// Buffers that peers write into, one for each slot. A buffer is registered for its transfer only: where registration
/// is expensive, libfabric caches it, and notices when memory is freed.
class BulkReceives {
 public:
  /// Borrows `fabric`. Requests chunks of `chunk_bytes`, or less where the provider's messages are shorter.
  BulkReceives(Fabric& fabric, std::uint32_t slot_count, std::size_t chunk_bytes)
      : fabric_{fabric}, chunk_bytes_{std::min(chunk_bytes, fabric.info().ep_attr->max_msg_size)}, slots_(slot_count) {}

  /// Opens a slot; what is returned is to be sent to `bulk.from`. Expects: the slot is free.
  [[nodiscard]] Ready open(const BulkReceive& bulk) {
    Slot& slot = slots_[bulk.slot.value()];
    expect(slot.chunks_missing == 0, "a slot that is not in use");
    slot.region = fabric_.make_writable(bulk.buffer, next_key_++);
    slot.from = bulk.from;
    slot.cookie = bulk.cookie;
    slot.chunks_missing = (bulk.buffer.size() + chunk_bytes_ - 1) / chunk_bytes_;
    const bool is_by_address = fabric_.registers_by(FI_MR_VIRT_ADDR);
    return {.address = is_by_address ? std::bit_cast<std::uintptr_t>(bulk.buffer.data()) : 0,
            .key = fi_mr_key(slot.region.get()),
            .bytes = bulk.buffer.size(),
            .chunk_bytes = chunk_bytes_,
            .slot = bulk.slot.value()};
  }

  /// A chunk has come for the slot that `word` names; appends the transfer to `done` if it was the last.
  void note_chunk(std::uint64_t word, std::vector<BulkDone>& done) {
    const auto number = static_cast<std::size_t>(word);
    expect(number < slots_.size() && slots_[number].chunks_missing > 0, "peers write into open slots only");
    Slot& slot = slots_[number];
    if (--slot.chunks_missing == 0) {
      slot.region.reset();
      done.push_back({TransferDirection::received, slot.cookie});
    }
  }

  /// Throws: `Error` with `network` when a sender has ended its driver.
  void require_senders(const Peers& peers) const {
    for (const Slot& slot : slots_) {
      if (slot.chunks_missing > 0 && !peers.can_reach(slot.from)) {
        peer_is_lost(slot.from, "it has ended its driver before it sent what is waited for");
      }
    }
  }

  /// Takes all buffers back. Call it when the endpoint is closed, or leave it to the end.
  void close() noexcept { slots_.clear(); }

 private:
  struct Slot {
    FiHandle<fid_mr> region;
    Rank from;
    std::uint64_t cookie = 0;
    std::size_t chunks_missing = 0;
  };

  Fabric& fabric_;
  std::size_t chunk_bytes_;
  std::vector<Slot> slots_;
  std::uint64_t next_key_ = 0;
};

}  // namespace plait::net::detail::ofi
