// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "plait/replay/schedule.hpp"

namespace plait::replay::detail {

/// Where a collective stands in a schedule, on one rank.
struct CollectivePlace {
  std::uint32_t rank = 0;
  std::uint32_t lane = 0;
  std::uint32_t operation = 0;
};

/// The members of a communicator, as ranks of the run.
[[nodiscard]] std::vector<std::uint32_t> members_of(const Schedule& schedule, std::uint32_t communicator);

/// Whether the operation behind this one is a wait that names it.
[[nodiscard]] bool is_waited_for_at_once(const Lane& lane, std::size_t operation);

/// For each communicator that has collectives, and each of its members: its collectives in the order of their logged
/// times. Members that have none have an empty list.
[[nodiscard]] std::map<std::uint32_t, std::vector<std::vector<CollectivePlace>>> collectives_of(
    const Schedule& schedule);

}  // namespace plait::replay::detail
