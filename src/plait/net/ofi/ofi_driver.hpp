// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "plait/base/id.hpp"
#include "plait/net/driver.hpp"
#include "plait/net/exchange.hpp"
#include "plait/net/transfer_options.hpp"

namespace plait::net {

/// The same on all ranks, but for `node`.
struct OfiOptions {
  /// A provider as fi_info prints it: "tcp", "shm", "verbs", "cxi". Empty for libfabric's first that has remote writes.
  /// The environment variable FI_PROVIDER restricts both.
  std::string provider;
  /// This rank's address, host name or network interface, for providers that have addresses. Empty for 127.0.0.1 when
  /// all ranks are on one host and in one network namespace, else libfabric's choice.
  std::string node;
  TransferOptions transfers;
};

/// Creates a driver over libfabric, for networks that have it (verbs, cxi, psm), and for tcp and shm; name
/// "ofi (tcp;ofi_rxm 117.0)".
///
/// Packets arrive through a ring of posted receives of one endpoint that reaches all ranks; they are not copied. The
/// sender writes bulk data directly into the receiver's buffer, which the receiver registers and describes in a message
/// of the driver. Each chunk completes with a word at the receiver. Messages of a rank to itself do not use libfabric.
///
/// A peer that ends its driver notifies the ranks that it has communicated with; later packets to it are dropped. If it
/// ends without notice, their `poll` and `send` throw: within a second for a process on this host, within about ten
/// seconds elsewhere when nothing is in flight to it. Destroy the driver on all ranks when nothing is in flight: it
/// abandons what still is after at most a second.
///
/// Collective over `rank_count` ranks, which meet through `exchange`; it is called three times, and not kept.
/// Connections are made at first use; until then `send` returns `retry`. Threads: one at a time. Throws: on all ranks,
/// `Error` with `bad_argument` for providers or addresses that are not available on one of them, and for ranks with
/// different providers; on one rank, for invalid options; as the driver, with `network` and libfabric's message when
/// libfabric fails.
[[nodiscard]] std::unique_ptr<Driver> make_ofi_driver(Rank self,
                                                      std::uint32_t rank_count,
                                                      const Exchange& exchange,
                                                      const OfiOptions& options = {});

}  // namespace plait::net
