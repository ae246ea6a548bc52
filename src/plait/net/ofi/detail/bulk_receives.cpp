// SPDX-License-Identifier: Apache-2.0
#include "plait/net/ofi/detail/bulk_receives.hpp"

#include <algorithm>
#include <bit>

#include "plait/base/error.hpp"
#include "plait/net/ofi/detail/call.hpp"

namespace plait::net::detail::ofi {

BulkReceives::BulkReceives(Fabric& fabric, std::uint32_t slot_count, std::size_t chunk_bytes)
    : fabric_{fabric}, chunk_bytes_{std::min(chunk_bytes, fabric.info().ep_attr->max_msg_size)}, slots_(slot_count) {}

Ready BulkReceives::open(const BulkReceive& bulk) {
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

void BulkReceives::note_chunk(std::uint64_t word, std::vector<BulkDone>& done) {
  const auto number = static_cast<std::size_t>(word);
  expect(number < slots_.size() && slots_[number].chunks_missing > 0, "peers write into open slots only");
  Slot& slot = slots_[number];
  if (--slot.chunks_missing == 0) {
    slot.region.reset();
    done.push_back({TransferDirection::received, slot.cookie});
  }
}

void BulkReceives::require_senders(const Peers& peers) const {
  for (const Slot& slot : slots_) {
    if (slot.chunks_missing > 0 && !peers.can_reach(slot.from)) {
      peer_is_lost(slot.from, "it has ended its driver before it sent what is waited for");
    }
  }
}

}  // namespace plait::net::detail::ofi
