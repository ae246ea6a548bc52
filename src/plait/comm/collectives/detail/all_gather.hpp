// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plait/comm/collectives/detail/call.hpp"

namespace plait::comm::detail {

/// An all-gather whose arguments are checked and whose own block is in its place.
struct AllGather {
  Call call;
  std::vector<std::span<std::byte>> all;
};

// The ways, one a file.
Request ring_all_gather(AllGather gather);
Request doubling_all_gather(AllGather gather);

}  // namespace plait::comm::detail
