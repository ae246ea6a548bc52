// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/change.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/replay/detail/places.hpp"

namespace plait::replay {
namespace {

constexpr std::uint32_t gone = trace::nothing;

/// Removes the operations that are not kept. A wait for operation i becomes one for `stands_for[i]`. Returns the new
/// number of each.
std::vector<std::uint32_t> leave_out(Stream& stream,
                                     const std::vector<bool>& is_kept,
                                     const std::vector<std::uint32_t>& stands_for) {
  std::vector<std::uint32_t> number(stream.operations.size(), gone);
  std::vector<Operation> operations;
  std::vector<std::uint32_t> waited;
  std::vector<bool> is_waited_for(stream.operations.size(), false);
  for (std::uint32_t i = 0; i < stream.operations.size(); ++i) {
    if (!is_kept[i]) {
      continue;
    }
    Operation operation = stream.operations[i];
    if (operation.action == Action::wait) {
      const auto first = static_cast<std::uint32_t>(waited.size());
      for (std::uint32_t n = 0; n < operation.count; ++n) {
        const std::uint32_t target = stands_for[stream.waited[operation.first + n]];
        if (number[target] != gone && !is_waited_for[target]) {
          is_waited_for[target] = true;
          waited.push_back(number[target]);
        }
      }
      operation.first = first;
      operation.count = static_cast<std::uint32_t>(waited.size()) - first;
      if (operation.count == 0) {
        operation.action = Action::poll;
      }
    }
    number[i] = static_cast<std::uint32_t>(operations.size());
    operations.push_back(operation);
  }
  stream.operations = std::move(operations);
  stream.waited = std::move(waited);
  return number;
}

/// Returns the number of waits, also for other streams, before each operation of a stream.
std::vector<std::uint32_t> waits_before(const Stream& stream) {
  std::vector<std::uint32_t> counts;
  counts.reserve(stream.operations.size());
  std::uint32_t count = 0;
  for (const Operation& operation : stream.operations) {
    counts.push_back(count);
    count += operation.action == Action::wait || operation.action == Action::after ? 1 : 0;
  }
  return counts;
}

std::vector<bool> all_kept(const Stream& stream) {
  return std::vector<bool>(stream.operations.size(), true);
}

/// Every operation replaces itself.
std::vector<std::uint32_t> themselves(const Stream& stream) {
  std::vector<std::uint32_t> numbers(stream.operations.size());
  std::iota(numbers.begin(), numbers.end(), 0U);
  return numbers;
}

}  // namespace

std::uint64_t scaled_bytes(std::uint64_t bytes, double factor) {
  const auto result = static_cast<std::uint64_t>(std::llround(std::min(static_cast<double>(bytes) * factor, 0x1p50)));
  return bytes > 0 && factor > 0 ? std::max<std::uint64_t>(result, 1) : result;
}

void scale_bytes(Schedule& schedule, double factor) {
  expect(factor >= 0, "sizes cannot be negative");
  for (RankSchedule& rank : schedule.ranks) {
    for (Stream& stream : rank.streams) {
      for (Operation& operation : stream.operations) {
        operation.bytes = scaled_bytes(operation.bytes, factor);
        operation.bytes_got = scaled_bytes(operation.bytes_got, factor);
      }
      for (std::uint64_t& share : stream.shares) {
        share = scaled_bytes(share, factor);
      }
    }
  }
}

void scale_compute(Schedule& schedule, double factor) {
  expect(factor >= 0, "times cannot be negative");
  for (RankSchedule& rank : schedule.ranks) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> awaited;  // by other streams
    for (const Stream& stream : rank.streams) {
      for (const StreamPoint& point : stream.others) {
        awaited.emplace(point.stream, point.operation);
      }
    }
    std::vector<std::vector<std::uint32_t>> numbers;
    for (std::uint32_t number = 0; number < rank.streams.size(); ++number) {
      Stream& stream = rank.streams[number];
      std::vector<bool> is_kept = all_kept(stream);
      for (std::uint32_t i = 0; i < stream.operations.size(); ++i) {
        Operation& operation = stream.operations[i];
        if (operation.action == Action::compute) {
          operation.took = nanoseconds{std::llround(static_cast<double>(operation.took.count()) * factor)};
          is_kept[i] = operation.took > nanoseconds{} || awaited.contains({number, i});
        }
      }
      numbers.push_back(leave_out(stream, is_kept, themselves(stream)));
    }
    detail::renumber_points(rank, numbers);
  }
}

Schedule aggregated(const Schedule& schedule) {
  Schedule result = schedule;
  const auto epochs = detail::for_streams(schedule, waits_before);
  const auto epoch = [&](detail::Place place) {
    place.operation = epochs[place.rank][place.stream][place.operation];
    return place;
  };
  const std::vector<detail::PairOfPlaces> pairs = detail::pair_operations(schedule);
  detail::number_messages(result, pairs);
  std::map<std::pair<detail::Place, detail::Place>, std::vector<const detail::PairOfPlaces*>> groups;
  for (const detail::PairOfPlaces& pair : pairs) {
    groups[{epoch(pair.send), epoch(pair.receive)}].push_back(&pair);
  }
  auto is_kept = detail::for_streams(schedule, all_kept);
  auto stands_for = detail::for_streams(schedule, themselves);
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
    const auto stand_for = [&](const detail::Place& one, const detail::Place& all) {
      is_kept[one.rank][one.stream][one.operation] = one.operation == all.operation;
      stands_for[one.rank][one.stream][one.operation] = all.operation;
    };
    for (const detail::PairOfPlaces* pair : members) {
      stand_for(pair->send, send);
      stand_for(pair->receive, receive);
    }
    for (const detail::Place& place : {send, receive}) {
      detail::operation_at(result, place).bytes = bytes;
      detail::operation_at(result, place).tag = tag;
    }
  }
  for (std::size_t rank = 0; rank < result.ranks.size(); ++rank) {
    std::vector<std::vector<std::uint32_t>> numbers;
    for (std::size_t stream = 0; stream < result.ranks[rank].streams.size(); ++stream) {
      numbers.push_back(leave_out(result.ranks[rank].streams[stream], is_kept[rank][stream], stands_for[rank][stream]));
    }
    detail::renumber_points(result.ranks[rank], numbers);
  }
  return result;
}

}  // namespace plait::replay
