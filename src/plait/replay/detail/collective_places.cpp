// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/collective_places.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace plait::replay::detail {

std::vector<std::uint32_t> members_of(const Schedule& schedule, std::uint32_t communicator) {
  const auto found = schedule.communicators.find(communicator);
  if (found != schedule.communicators.end()) {
    return found->second;
  }
  std::vector<std::uint32_t> all(schedule.ranks.size());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

bool is_waited_for_at_once(const Lane& lane, std::size_t operation) {
  if (operation + 1 >= lane.operations.size() || lane.operations[operation + 1].action != Action::wait) {
    return false;
  }
  const Operation& wait = lane.operations[operation + 1];
  const auto waited = std::span{lane.waited}.subspan(wait.first, wait.count);
  return std::ranges::find(waited, operation) != waited.end();
}

std::map<std::uint32_t, std::vector<std::vector<CollectivePlace>>> collectives_of(const Schedule& schedule) {
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<CollectivePlace>>> by_rank;
  for (std::uint32_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    const std::vector<Lane>& lanes = schedule.ranks[rank].lanes;
    for (std::uint32_t lane = 0; lane < lanes.size(); ++lane) {
      for (std::uint32_t i = 0; i < lanes[lane].operations.size(); ++i) {
        if (lanes[lane].operations[i].action == Action::collective) {
          by_rank[lanes[lane].operations[i].communicator][rank].push_back({rank, lane, i});
        }
      }
    }
  }
  std::map<std::uint32_t, std::vector<std::vector<CollectivePlace>>> found;
  for (auto& [communicator, ranks] : by_rank) {
    for (const std::uint32_t member : members_of(schedule, communicator)) {
      std::vector<CollectivePlace>& places = ranks[member];
      std::ranges::stable_sort(places, {}, [&](const CollectivePlace& place) {
        return schedule.ranks[place.rank].lanes[place.lane].operations[place.operation].at;
      });
      found[communicator].push_back(std::move(places));
    }
  }
  return found;
}

}  // namespace plait::replay::detail
