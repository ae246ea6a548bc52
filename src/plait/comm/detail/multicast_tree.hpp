// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plait/comm/wire.hpp"

namespace plait::comm::detail {

/// One copy of a multicast: whom it goes to, and where that rank passes it on to.
struct Branch {
  wire::Stop to;
  std::vector<wire::Stop> stops;
};

/// Cuts the destinations of a multicast into the branches of a binomial tree: ceil(log2(n + 1)) of them, the
/// biggest first, unless `stops_max`, the most that fits into a packet, asks for more.
///
/// `stops` are sorted, the most urgent first: the first become this rank's own branches, the others are dealt out so
/// that an urgent one has few ranks before it. Cost: linear.
[[nodiscard]] std::vector<Branch> branches(std::span<const wire::Stop> stops, std::size_t stops_max);

}  // namespace plait::comm::detail
