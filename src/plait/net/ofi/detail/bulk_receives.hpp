// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plait/net/driver.hpp"
#include "plait/net/ofi/detail/bulk_sends.hpp"
#include "plait/net/ofi/detail/fabric.hpp"
#include "plait/net/ofi/detail/peers.hpp"

namespace plait::net::detail::ofi {

/// Buffers that peers write into, one a slot. A buffer is registered with libfabric for the length of its transfer:
/// where that is dear libfabric keeps registrations itself, and sees, as no cache of ours could, when memory is given
/// back.
class BulkReceives {
 public:
  /// Borrows `fabric`. Requests chunks of `chunk_bytes`, or less where the provider's messages are shorter.
  BulkReceives(Fabric& fabric, std::uint32_t slot_count, std::size_t chunk_bytes);

  /// Opens a slot; what is returned is to be sent to `bulk.from`. Expects: the slot is free.
  [[nodiscard]] Ready open(const BulkReceive& bulk);
  /// A chunk has come for the slot that `word` names; appends the transfer to `done` if it was the last.
  void note_chunk(std::uint64_t word, std::vector<BulkDone>& done);
  /// Throws: `Error` with `network` when a sender has ended its driver.
  void require_senders(const Peers& peers) const;
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
