// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/pairing.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace plait::replay::detail {
namespace {

struct Side {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t communicator = 0;
  std::uint64_t tag = 0;
  nanoseconds at{};  ///< Told apart by it only where a rank has several lanes.
  Place place;

  [[nodiscard]] auto kind() const { return std::tuple{source, destination, communicator, tag}; }
};

std::vector<Side> sides(const Schedule& schedule, Action action) {
  std::vector<Side> found;
  for (std::uint32_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    const auto& lanes = schedule.ranks[rank].lanes;
    for (std::uint32_t lane = 0; lane < lanes.size(); ++lane) {
      for (std::uint32_t i = 0; i < lanes[lane].operations.size(); ++i) {
        const Operation& operation = lanes[lane].operations[i];
        if (operation.action == action) {
          const bool is_send = action == Action::send;
          found.push_back({is_send ? rank : operation.peer,
                           is_send ? operation.peer : rank,
                           operation.communicator,
                           operation.tag,
                           lanes.size() > 1 ? operation.at : nanoseconds{},
                           {rank, lane, i}});
        }
      }
    }
  }
  std::ranges::stable_sort(
      found, {}, [](const Side& side) { return std::tuple_cat(side.kind(), std::tuple{side.at}); });
  return found;
}

}  // namespace

std::vector<PairOfPlaces> pair_operations(const Schedule& schedule) {
  const std::vector<Side> sends = sides(schedule, Action::send);
  const std::vector<Side> receives = sides(schedule, Action::receive);
  std::vector<PairOfPlaces> pairs;
  pairs.reserve(sends.size());
  auto receive = receives.begin();
  for (const Side& send : sends) {
    while (receive != receives.end() && receive->kind() < send.kind()) {
      ++receive;
    }
    if (receive != receives.end() && receive->kind() == send.kind()) {
      pairs.push_back({send.place, receive->place});
      ++receive;
    }
  }
  return pairs;
}

void number_messages(Schedule& schedule, const std::vector<PairOfPlaces>& pairs) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> counts;
  for (const PairOfPlaces& pair : pairs) {
    const std::uint64_t number = counts[{pair.send.rank, pair.receive.rank}]++;
    for (const Place& place : {pair.send, pair.receive}) {
      operation_at(schedule, place).communicator = 0;
      operation_at(schedule, place).tag = number;
    }
  }
}

}  // namespace plait::replay::detail
