// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/net/driver.hpp"

namespace plait::net {

/// A driver for some of the peers.
struct CombinedPart {
  std::unique_ptr<Driver> driver;
  /// The rank in the whole network of each of the driver's own ranks.
  std::vector<Rank> called;
  /// The peers that it serves, as ranks of the whole network: some or all of `called`.
  std::vector<Rank> serves;
};

/// Creates one network of several drivers: each of `rank_count` peers, this rank included, is served by one of them.
///
/// Packets are as large as the smallest of the parts', slots as many as the fewest. A peer uses the slots of its part,
/// so no two transfers meet. A part without peers is never polled; a poll asks the others, a different one first each
/// time. A packet that arrived through one part may be sent through another: packets of another size are freed and
/// allocated again, so all parts should have one size.
///
/// The caller ensures that both ends of a pair are served by the same network. Threads: one at a time. Throws: `Error`
/// with `bad_argument` when a rank is served by no part or by two, or by a driver that does not know it; as the driver,
/// what the parts throw, with the rank as the whole network names it.
[[nodiscard]] std::unique_ptr<Driver> make_combined_driver(Rank self,
                                                           std::uint32_t rank_count,
                                                           std::vector<CombinedPart> parts);

}  // namespace plait::net
