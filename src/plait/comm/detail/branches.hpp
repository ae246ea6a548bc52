// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/comm/wire.hpp"

namespace plait::comm::detail {

/// One copy of a multicast: its receiver, and where that rank forwards it to.
struct Branch {
  wire::Stop to;
  std::vector<wire::Stop> stops;
};

/// Divides the destinations of a multicast into the ceil(log2(n + 1)) branches of a binomial tree, the largest first;
/// into more when a branch exceeds `stops_max`, which fit into a packet.
///
/// `stops` are sorted, the most urgent first. The first are children of this rank; the others are distributed so that
/// urgent ones are near it. Cost: linear.
[[nodiscard]] std::vector<Branch> branches(std::span<const wire::Stop> stops, std::size_t stops_max);

/// As `branches`, where `nodes` has the node of each rank, of which `self` is one: the branches to other nodes first,
/// one for each at most, along a binomial tree of nodes; the first stop of a node forwards to the others there.
[[nodiscard]] std::vector<Branch> branches_by_node(std::span<const wire::Stop> stops,
                                                   std::size_t stops_max,
                                                   std::span<const std::uint32_t> nodes,
                                                   Rank self);

}  // namespace plait::comm::detail
