// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/detail/stuck.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace plait::replay::predicting {
namespace {

std::string name_of(const Operation& operation, std::uint32_t rank) {
  const bool sends = operation.action == Action::send;
  if (operation.action == Action::collective) {
    return fmt::format("a collective on communicator {}, which not all of its members have begun",
                       operation.communicator);
  }
  return fmt::format("the message from rank {} to rank {} (tag {}, communicator {}, {} bytes)",
                     sends ? rank : operation.peer,
                     sends ? operation.peer : rank,
                     operation.tag,
                     operation.communicator,
                     operation.bytes);
}

/// How many operations of one kind a rank has for a key.
std::size_t count_of(
    const Schedule& schedule, std::uint32_t rank, Action action, std::uint32_t peer, const Operation& key) {
  std::size_t count = 0;
  if (rank >= schedule.ranks.size()) {
    return 0;
  }
  for (const Lane& lane : schedule.ranks[rank].lanes) {
    count += static_cast<std::size_t>(std::ranges::count_if(lane.operations, [&](const Operation& operation) {
      return operation.action == action && operation.peer == peer && operation.tag == key.tag &&
             operation.communicator == key.communicator;
    }));
  }
  return count;
}

bool lacks_other_end(const Schedule& schedule, const StuckLane& stuck) {
  const Operation& operation = stuck.operation;
  if (operation.action != Action::send && operation.action != Action::receive) {
    return false;
  }
  const Action other = operation.action == Action::send ? Action::receive : Action::send;
  return count_of(schedule, operation.peer, other, stuck.rank, operation) <
         count_of(schedule, stuck.rank, operation.action, operation.peer, operation);
}

}  // namespace

std::string explain(const Schedule& schedule, const std::vector<StuckLane>& stuck) {
  if (stuck.empty()) {
    return "the exchange cannot finish: a rank waits for an operation that it has not begun";
  }
  const auto lacking =
      std::ranges::find_if(stuck, [&](const StuckLane& one) { return lacks_other_end(schedule, one); });
  if (lacking != stuck.end()) {
    const bool sends = lacking->operation.action == Action::send;
    return fmt::format(
        "the exchange cannot finish: rank {} waits (operation {}) for {}, which rank {} does not {}; record the "
        "run again to its end, or leave the message out",
        lacking->rank,
        lacking->place,
        name_of(lacking->operation, lacking->rank),
        lacking->operation.peer,
        sends ? "receive" : "send");
  }
  const StuckLane& first = stuck.front();
  return fmt::format(
      "the exchange cannot finish: rank {} waits (operation {}) for {}, and its other end waits as well; with "
      "a larger \"eager_bytes_max\" sends need not wait for their receives",
      first.rank,
      first.place,
      name_of(first.operation, first.rank));
}

std::vector<std::string> lost_messages(const MessageTable& messages) {
  constexpr std::size_t named_max = 10;
  std::vector<std::string> sentences;
  std::size_t count = 0;
  messages.for_each_unmatched([&](const Message& message) {
    if (message.receive != none || ++count > named_max) {
      return;
    }
    sentences.push_back(
        fmt::format("the message from rank {} to rank {} (tag {}, communicator {}, {} bytes) is never received",
                    message.source,
                    message.destination,
                    message.tag,
                    message.communicator,
                    message.bytes));
  });
  std::ranges::sort(sentences);
  if (count > named_max) {
    sentences.push_back(fmt::format("{} more messages are never received", count - named_max));
  }
  return sentences;
}

}  // namespace plait::replay::predicting
