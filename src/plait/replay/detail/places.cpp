// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/places.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace plait::replay::detail {

std::vector<MessageEnd> message_ends(const Schedule& schedule, Action action) {
  std::vector<MessageEnd> found;
  for_each_operation(schedule, [&](const Place& place, const Operation& operation) {
    if (operation.action == action) {
      const bool is_send = action == Action::send;
      found.push_back({is_send ? place.rank : operation.peer,
                       is_send ? operation.peer : place.rank,
                       operation.communicator,
                       operation.tag,
                       schedule.ranks[place.rank].streams.size() > 1 ? operation.at : nanoseconds{},
                       place});
    }
  });
  std::ranges::stable_sort(
      found, {}, [](const MessageEnd& end) { return std::tuple_cat(end.key(), std::tuple{end.at}); });
  return found;
}

std::vector<PairOfPlaces> pair_operations(const Schedule& schedule) {
  std::vector<PairOfPlaces> pairs;
  match_ends(message_ends(schedule, Action::send),
             message_ends(schedule, Action::receive),
             [&](const MessageEnd* send, const MessageEnd* receive) {
               if (send != nullptr && receive != nullptr) {
                 pairs.push_back({send->place, receive->place});
               }
             });
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

std::vector<std::uint32_t> members_of(const Schedule& schedule, std::uint32_t communicator) {
  const auto found = schedule.communicators.find(communicator);
  if (found != schedule.communicators.end()) {
    return found->second;
  }
  std::vector<std::uint32_t> all(schedule.ranks.size());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

bool is_waited_for_at_once(const Stream& stream, std::size_t operation) {
  if (operation + 1 >= stream.operations.size() || stream.operations[operation + 1].action != Action::wait) {
    return false;
  }
  const Operation& wait = stream.operations[operation + 1];
  const auto waited = std::span{stream.waited}.subspan(wait.first, wait.count);
  return std::ranges::find(waited, operation) != waited.end();
}

std::map<std::uint32_t, std::vector<std::vector<Place>>> collectives_of(const Schedule& schedule) {
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<Place>>> by_rank;
  for_each_operation(schedule, [&](const Place& place, const Operation& operation) {
    if (operation.action == Action::collective) {
      by_rank[operation.communicator][place.rank].push_back(place);
    }
  });
  std::map<std::uint32_t, std::vector<std::vector<Place>>> found;
  for (auto& [communicator, ranks] : by_rank) {
    for (const std::uint32_t member : members_of(schedule, communicator)) {
      std::vector<Place>& places = ranks[member];
      std::ranges::stable_sort(places, {}, [&](const Place& place) { return operation_at(schedule, place).at; });
      found[communicator].push_back(std::move(places));
    }
  }
  return found;
}

}  // namespace plait::replay::detail
