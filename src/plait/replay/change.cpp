// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/change.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/replay/detail/pairing.hpp"

namespace plait::replay {
namespace {

constexpr std::uint32_t gone = trace::nothing;

std::uint64_t scaled(std::uint64_t bytes, double factor) {
  const auto result = static_cast<std::uint64_t>(std::llround(std::min(static_cast<double>(bytes) * factor, 0x1p50)));
  return bytes > 0 && factor > 0 ? std::max<std::uint64_t>(result, 1) : result;
}

template <class Change>
void for_each_lane(Schedule& schedule, const Change& change) {
  for (RankSchedule& rank : schedule.ranks) {
    for (Lane& lane : rank.lanes) {
      change(lane);
    }
  }
}

/// The lane without the operations that are not kept; `stands_for[i]` is whom a wait for i waits for now.
void leave_out(Lane& lane, const std::vector<bool>& is_kept, const std::vector<std::uint32_t>& stands_for) {
  std::vector<std::uint32_t> number(lane.operations.size(), gone);
  std::vector<Operation> operations;
  std::vector<std::uint32_t> waited;
  std::vector<bool> is_waited_for(lane.operations.size(), false);
  for (std::uint32_t i = 0; i < lane.operations.size(); ++i) {
    if (!is_kept[i]) {
      continue;
    }
    Operation operation = lane.operations[i];
    if (operation.action == Action::wait) {
      const auto first = static_cast<std::uint32_t>(waited.size());
      for (std::uint32_t n = 0; n < operation.count; ++n) {
        const std::uint32_t target = stands_for[lane.waited[operation.first + n]];
        if (number[target] != gone && !is_waited_for[target]) {
          is_waited_for[target] = true;
          waited.push_back(number[target]);
        }
      }
      operation.first = first;
      operation.count = static_cast<std::uint32_t>(waited.size()) - first;
      if (operation.count == 0) {
        operation.action = Action::look;
      }
    }
    number[i] = static_cast<std::uint32_t>(operations.size());
    operations.push_back(operation);
  }
  lane.operations = std::move(operations);
  lane.waited = std::move(waited);
}

/// For each operation of a lane, how many waits come before it.
std::vector<std::uint32_t> waits_before(const Lane& lane) {
  std::vector<std::uint32_t> counts;
  counts.reserve(lane.operations.size());
  std::uint32_t count = 0;
  for (const Operation& operation : lane.operations) {
    counts.push_back(count);
    count += operation.action == Action::wait ? 1 : 0;
  }
  return counts;
}

template <class Value>
using ByLane = std::vector<std::vector<std::vector<Value>>>;

template <class Value>
ByLane<Value> for_all_operations(const Schedule& schedule, const Value& value) {
  ByLane<Value> all(schedule.ranks.size());
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    for (const Lane& lane : schedule.ranks[rank].lanes) {
      all[rank].emplace_back(lane.operations.size(), value);
    }
  }
  return all;
}

}  // namespace

void scale_bytes(Schedule& schedule, double factor) {
  expect(factor >= 0, "sizes cannot be negative");
  for_each_lane(schedule, [&](Lane& lane) {
    for (Operation& operation : lane.operations) {
      operation.bytes = scaled(operation.bytes, factor);
      operation.bytes_got = scaled(operation.bytes_got, factor);
    }
    for (std::uint64_t& share : lane.shares) {
      share = scaled(share, factor);
    }
  });
}

void scale_compute(Schedule& schedule, double factor) {
  expect(factor >= 0, "times cannot be negative");
  for_each_lane(schedule, [&](Lane& lane) {
    std::vector<bool> is_kept(lane.operations.size(), true);
    std::vector<std::uint32_t> stands_for(lane.operations.size());
    for (std::uint32_t i = 0; i < lane.operations.size(); ++i) {
      Operation& operation = lane.operations[i];
      stands_for[i] = i;
      if (operation.action == Action::compute) {
        operation.took = nanoseconds{std::llround(static_cast<double>(operation.took.count()) * factor)};
        is_kept[i] = operation.took > nanoseconds{};
      }
    }
    leave_out(lane, is_kept, stands_for);
  });
}

Schedule aggregated(const Schedule& schedule) {
  using Group = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
  Schedule result = schedule;
  ByLane<std::uint32_t> epochs(schedule.ranks.size());
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    for (const Lane& lane : schedule.ranks[rank].lanes) {
      epochs[rank].push_back(waits_before(lane));
    }
  }
  const auto epoch = [&](const detail::Place& place) { return epochs[place.rank][place.lane][place.operation]; };
  const std::vector<detail::PairOfPlaces> pairs = detail::pair_operations(schedule);
  detail::number_messages(result, pairs);
  std::map<Group, std::vector<const detail::PairOfPlaces*>> groups;
  for (const detail::PairOfPlaces& pair : pairs) {
    groups
        [{pair.send.rank, pair.send.lane, epoch(pair.send), pair.receive.rank, pair.receive.lane, epoch(pair.receive)}]
            .push_back(&pair);
  }
  ByLane<bool> is_kept = for_all_operations(schedule, true);
  ByLane<std::uint32_t> stands_for = for_all_operations(schedule, std::uint32_t{0});
  for (auto& rank : stands_for) {
    for (auto& lane : rank) {
      for (std::uint32_t i = 0; i < lane.size(); ++i) {
        lane[i] = i;
      }
    }
  }
  for (const auto& [group, members] : groups) {
    detail::Place send = members.front()->send;
    detail::Place receive = members.front()->receive;
    std::uint64_t bytes = 0;
    for (const detail::PairOfPlaces* pair : members) {
      bytes += detail::operation_at(schedule, pair->send).bytes;
      send.operation = std::max(send.operation, pair->send.operation);
      receive.operation = std::min(receive.operation, pair->receive.operation);
    }
    const std::uint64_t tag = detail::operation_at(result, members.front()->send).tag;
    for (const detail::PairOfPlaces* pair : members) {
      is_kept[pair->send.rank][pair->send.lane][pair->send.operation] = pair->send.operation == send.operation;
      is_kept[pair->receive.rank][pair->receive.lane][pair->receive.operation] =
          pair->receive.operation == receive.operation;
      stands_for[pair->send.rank][pair->send.lane][pair->send.operation] = send.operation;
      stands_for[pair->receive.rank][pair->receive.lane][pair->receive.operation] = receive.operation;
    }
    for (const detail::Place& place : {send, receive}) {
      detail::operation_at(result, place).bytes = bytes;
      detail::operation_at(result, place).tag = tag;
    }
  }
  for (std::size_t rank = 0; rank < result.ranks.size(); ++rank) {
    for (std::size_t lane = 0; lane < result.ranks[rank].lanes.size(); ++lane) {
      leave_out(result.ranks[rank].lanes[lane], is_kept[rank][lane], stands_for[rank][lane]);
    }
  }
  return result;
}

}  // namespace plait::replay
