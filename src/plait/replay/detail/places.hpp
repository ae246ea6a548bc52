// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "plait/replay/schedule.hpp"

namespace plait::replay::detail {

/// Where an operation is in a schedule.
struct Place {
  std::uint32_t rank = 0;
  std::uint32_t stream = 0;
  std::uint32_t operation = 0;
  friend auto operator<=>(const Place&, const Place&) = default;
};

[[nodiscard]] inline const Stream& stream_at(const Schedule& schedule, const Place& place) {
  return schedule.ranks[place.rank].streams[place.stream];
}
[[nodiscard]] inline const Operation& operation_at(const Schedule& schedule, const Place& place) {
  return stream_at(schedule, place).operations[place.operation];
}
[[nodiscard]] inline Operation& operation_at(Schedule& schedule, const Place& place) {
  return schedule.ranks[place.rank].streams[place.stream].operations[place.operation];
}

/// Gives what `Action::after` waits for the new numbers of its operations: by stream, then by operation.
inline void renumber_points(RankSchedule& rank, const std::vector<std::vector<std::uint32_t>>& numbers) {
  for (Stream& stream : rank.streams) {
    for (StreamPoint& point : stream.others) {
      point.operation = numbers[point.stream][point.operation];
    }
  }
}

/// Calls `visit(place, operation)` for all operations of a schedule, const or not: by rank, in each by stream.
template <class AnySchedule, class Visit>
void for_each_operation(AnySchedule& schedule, Visit visit) {
  for (std::uint32_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    auto& streams = schedule.ranks[rank].streams;
    for (std::uint32_t stream = 0; stream < streams.size(); ++stream) {
      for (std::uint32_t i = 0; i < streams[stream].operations.size(); ++i) {
        visit(Place{rank, stream, i}, streams[stream].operations[i]);
      }
    }
  }
}

/// Returns what `make` returns for each stream: index by rank, then by stream.
template <class Make>
[[nodiscard]] auto for_streams(const Schedule& schedule, const Make& make) {
  std::vector<std::vector<decltype(make(Stream{}))>> made(schedule.ranks.size());
  for (std::size_t rank = 0; rank < made.size(); ++rank) {
    for (const Stream& stream : schedule.ranks[rank].streams) {
      made[rank].push_back(make(stream));
    }
  }
  return made;
}

/// A send or a receive, with its matching key.
struct MessageEnd {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t communicator = 0;
  std::uint64_t tag = 0;
  nanoseconds at{};  ///< 0 if the rank has one stream, whose order counts.
  Place place;

  [[nodiscard]] auto key() const { return std::tuple{source, destination, communicator, tag}; }
};

/// All sends, or all receives, sorted by source, destination, communicator, tag and order. Those of equal keys in
/// several streams of a rank have the order of the log. Cost: sorts them.
[[nodiscard]] std::vector<MessageEnd> message_ends(const Schedule& schedule, Action action);

/// A message of a schedule: where it is sent and where received.
struct PairOfPlaces {
  Place send;
  Place receive;
};

/// Matches sends with receives, both sorted by `key()`. Calls `visit(send, receive)` for each pair, and with a null
/// pointer for a send or receive without a partner.
template <class End, class Visit>
void match_ends(const std::vector<End>& sends, const std::vector<End>& receives, const Visit& visit) {
  auto send = sends.begin();
  auto receive = receives.begin();
  while (send != sends.end() || receive != receives.end()) {
    const bool has_send = receive == receives.end() || (send != sends.end() && send->key() <= receive->key());
    const bool has_receive = send == sends.end() || (receive != receives.end() && receive->key() <= send->key());
    visit(has_send ? &*send++ : nullptr, has_receive ? &*receive++ : nullptr);
  }
}

/// All messages of a schedule that have a send and a receive, in the order of `message_ends`.
[[nodiscard]] std::vector<PairOfPlaces> pair_operations(const Schedule& schedule);

/// Gives the messages from one rank to another the tags 0, 1, ... on communicator 0, so that each has a tag of its own.
void number_messages(Schedule& schedule, const std::vector<PairOfPlaces>& pairs);

/// The members of a communicator, as ranks of the run.
[[nodiscard]] std::vector<std::uint32_t> members_of(const Schedule& schedule, std::uint32_t communicator);

/// Whether the next operation is a wait for this one.
[[nodiscard]] bool is_waited_for_at_once(const Stream& stream, std::size_t operation);

/// The collectives of each communicator that has any: for each member a list, possibly empty, in the order of the log.
[[nodiscard]] std::map<std::uint32_t, std::vector<std::vector<Place>>> collectives_of(const Schedule& schedule);

}  // namespace plait::replay::detail
