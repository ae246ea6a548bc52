// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "plait/base/id.hpp"
#include "plait/net/driver.hpp"
#include "plait/net/exchange.hpp"

namespace plait::net {

/// The same on all ranks, but for `node`.
struct OfiOptions {
  /// libfabric's name of a provider, as fi_info prints it: "tcp", "shm", "verbs", "cxi". Empty for libfabric's first
  /// choice among those that can do remote writes; the environment variable FI_PROVIDER narrows both.
  std::string provider;
  /// This rank's address, host name or network interface, for providers that have addresses. Empty for 127.0.0.1 when
  /// all ranks are on one host and in one network namespace, else libfabric's choice.
  std::string node;
  /// Larger than what a provider copies (about 16 KiB) is slower, never wrong.
  std::size_t packet_bytes_max = 8192;
  /// Receives kept posted for packets from any rank.
  std::uint32_t receives_posted = 64;
  /// Packets that libfabric has not sent yet; beyond, `send` returns `retry`.
  std::uint32_t sends_in_flight_max = 32;
  /// What unpolled packets may take in libfabric's memory, from all peers together: bounds
  /// `packets_in_flight_max()`, between 2 and 32.
  std::size_t unexpected_bytes_max = std::size_t{64} * 1024 * 1024;
  std::uint32_t bulk_slot_count = 16;
  /// Bulk data from one peer on its way at once: on TCP, packets wait behind it. Half a megabyte keeps 1 Gbit/s busy
  /// for 4 ms, 100 Gbit/s for 40 us.
  std::size_t bulk_in_flight_max = std::size_t{512} * 1024;
  /// Bulk sends under way at once; beyond, `send_bulk` returns `retry`.
  std::uint32_t bulk_sends_max = 16;
  /// Bulk data is cut into writes of this size, or less where the provider's are smaller, of which so many are under
  /// way.
  std::size_t bulk_chunk_bytes = std::size_t{4} * 1024 * 1024;
  std::uint32_t bulk_chunks_in_flight = 2;
};

/// Creates a driver over libfabric, for networks that have it (verbs, cxi, psm), and for tcp and shm; name
/// "ofi (tcp;ofi_rxm 117.0)".
///
/// Packets are messages of one endpoint that reaches all ranks. They arrive through a ring of receives posted in
/// advance, and move up by ownership, without a copy. The sender writes bulk data directly into the receiver's buffer,
/// which the receiver registers and describes in a message of the driver's own, before or after the sender's
/// `send_bulk`; each chunk carries a word that completes at the receiver. What a rank sends to itself does not use
/// libfabric.
///
/// A peer that ends its driver notifies those that it has exchanged anything with; packets to it then vanish. A peer
/// that ends without notice is detected by those, and `poll` and `send` throw: within a second if its process was on
/// this host, within some ten if it was elsewhere and nothing was on the way to it. Destroy the driver when nothing is
/// in flight, on all ranks, none of which waits for another: it gives up what still is, after at most a second.
///
/// Collective over `rank_count` ranks, which meet through `exchange`; it is called twice, and not kept. Threads: one at
/// a time. Connections are made at first use; until then `send` returns `retry`.
/// Throws: `Error` with `bad_argument` for invalid options, unavailable providers, and ranks with different providers;
/// as the driver, with `network` and libfabric's own words when libfabric fails.
[[nodiscard]] std::unique_ptr<Driver> make_ofi_driver(Rank self,
                                                      std::uint32_t rank_count,
                                                      const Exchange& exchange,
                                                      const OfiOptions& options = {});

}  // namespace plait::net
