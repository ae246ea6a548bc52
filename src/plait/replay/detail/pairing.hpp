// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/replay/schedule.hpp"

namespace plait::replay::detail {

struct Place {
  std::uint32_t rank = 0;
  std::uint32_t lane = 0;
  std::uint32_t operation = 0;
};

/// A message of a schedule: where it is sent and where received.
struct PairOfPlaces {
  Place send;
  Place receive;
};

/// All messages of a schedule, sorted by source, destination, communicator, tag and order. Those of one kind in several
/// lanes of a rank have the order of logging. Sends without a receive and receives without a send are not there. Cost:
/// sorts the messages.
[[nodiscard]] std::vector<PairOfPlaces> pair_operations(const Schedule& schedule);

[[nodiscard]] inline Operation& operation_at(Schedule& schedule, const Place& place) {
  return schedule.ranks[place.rank].lanes[place.lane].operations[place.operation];
}
[[nodiscard]] inline const Operation& operation_at(const Schedule& schedule, const Place& place) {
  return schedule.ranks[place.rank].lanes[place.lane].operations[place.operation];
}

/// Gives the messages from one rank to another the tags 0, 1, ... on communicator 0, so that none can be taken for
/// another.
void number_messages(Schedule& schedule, const std::vector<PairOfPlaces>& pairs);

}  // namespace plait::replay::detail
