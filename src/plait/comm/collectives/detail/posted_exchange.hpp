// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "plait/comm/collectives/detail/all_to_all.hpp"

namespace plait::comm::detail {

/// Posts all receives at once, beginning with the member before this one, and sends to the members in `send_order`, at
/// most `sends_max` of them at a time. Each block is told of as it comes, in whatever order.
Request posted_exchange(AllToAll exchange, std::vector<std::size_t> send_order, std::size_t sends_max);

}  // namespace plait::comm::detail
