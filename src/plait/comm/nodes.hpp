// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace plait::comm {

class Endpoint;

/// The nodes that an endpoint knows: between two of them messages pass the network.
///
/// Multicasts, and collectives of groups that are constructed later, pass it as rarely as they can. A `Runtime` sets
/// the nodes by the names of hosts. Threads: one at a time for each endpoint.
class Nodes {
 public:
  /// Sets a number for the node of each rank, below the number of ranks; empty: all ranks are on one node. The same on
  /// all ranks before they construct a group. Throws: `Error` with `bad_argument` unless there is one for each rank.
  static void set(Endpoint& endpoint, std::vector<std::uint32_t> of_ranks);
  /// What was set.
  [[nodiscard]] static const std::vector<std::uint32_t>& of(const Endpoint& endpoint) noexcept;
};

}  // namespace plait::comm
