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

/// Calls `visit(place, operation)` for all operations: by rank, in each by stream.
template <class Visit>
void for_each_operation(const Schedule& schedule, Visit visit) {
  for (std::uint32_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    const std::vector<Stream>& streams = schedule.ranks[rank].streams;
    for (std::uint32_t stream = 0; stream < streams.size(); ++stream) {
      for (std::uint32_t i = 0; i < streams[stream].operations.size(); ++i) {
        visit(Place{rank, stream, i}, streams[stream].operations[i]);
      }
    }
  }
}

/// What `make` returns for each stream: index by rank, then by stream.
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

/// A send or a receive, with what it is matched by.
struct MessageEnd {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t communicator = 0;
  std::uint64_t tag = 0;
  nanoseconds at{};  ///< 0 where the rank has one stream, whose order counts.
  Place place;

  [[nodiscard]] auto key() const { return std::tuple{source, destination, communicator, tag}; }
};

/// All sends, or all receives, sorted by source, destination, communicator, tag and order. Those of one key in several
/// streams of a rank have the order of logging. Cost: sorts them.
[[nodiscard]] std::vector<MessageEnd> message_ends(const Schedule& schedule, Action action);

/// A message of a schedule: where it is sent and where received.
struct PairOfPlaces {
  Place send;
  Place receive;
};

/// All messages of a schedule, in the order of `message_ends`. Sends without a receive and receives without a send are
/// left out.
[[nodiscard]] std::vector<PairOfPlaces> pair_operations(const Schedule& schedule);

/// Gives the messages from one rank to another the tags 0, 1, ... on communicator 0, so that none can be taken for
/// another.
void number_messages(Schedule& schedule, const std::vector<PairOfPlaces>& pairs);

/// The members of a communicator, as ranks of the run.
[[nodiscard]] std::vector<std::uint32_t> members_of(const Schedule& schedule, std::uint32_t communicator);

/// Whether the operation behind this one is a wait that names it.
[[nodiscard]] bool is_waited_for_at_once(const Stream& stream, std::size_t operation);

/// For each communicator that has collectives, and each of its members: its collectives in the order of their logged
/// times. Members that have none have an empty list.
[[nodiscard]] std::map<std::uint32_t, std::vector<std::vector<Place>>> collectives_of(const Schedule& schedule);

}  // namespace plait::replay::detail
