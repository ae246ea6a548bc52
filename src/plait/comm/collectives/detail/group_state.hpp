// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plait/comm/claimed_comms.hpp"
#include "plait/comm/collectives/group.hpp"

namespace plait::comm {

/// What the copies of a group, and its collectives under way, share.
struct Group::State {
  Endpoint* endpoint = nullptr;
  CommId comm;
  ClaimedComms claimed;  ///< Has `comm`, unless the program chose it.
  std::vector<Rank> members;
  std::size_t self = 0;
  std::uint64_t collective_count = 0;
};

}  // namespace plait::comm
