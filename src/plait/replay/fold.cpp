// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/fold.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/replay/detail/places.hpp"
#include "plait/replay/expand.hpp"

namespace plait::replay {
namespace {

/// Whether the collective can span all copies.
bool is_of_any_size(Collective kind) {
  using enum Collective;
  return kind == barrier || kind == broadcast || kind == reduce || kind == all_reduce || kind == scan;
}

}  // namespace

Result<Schedule> fold(const Schedule& schedule, std::uint32_t ranks) {
  const auto before = static_cast<std::uint32_t>(schedule.ranks.size());
  if (ranks == 0 || ranks > before) {
    return Error{
        ErrorCode::bad_argument,
        fmt::format("an exchange of {} ranks can be folded onto 1 to {} ranks, not {}", before, before, ranks)};
  }
  if (ranks == before) {
    return schedule;
  }
  const auto target = [&](std::uint32_t rank) {
    return static_cast<std::uint32_t>(std::uint64_t{rank} * ranks / before);
  };
  Schedule from = without_collectives(schedule);
  if (!detail::collectives_of(schedule).empty()) {
    from.notices.push_back(fmt::format("{} ranks folded onto {}: collectives became messages", before, ranks));
  }
  std::vector<detail::PairOfPlaces> pairs = detail::pair_operations(from);
  Schedule folded;
  folded.ranks.resize(ranks);
  folded.length = from.length;
  folded.notices = std::move(from.notices);
  std::vector<std::uint32_t> first_stream(before);
  for (std::uint32_t rank = 0; rank < before; ++rank) {
    auto& streams = folded.ranks[target(rank)].streams;
    first_stream[rank] = static_cast<std::uint32_t>(streams.size());
    for (Stream& stream : from.ranks[rank].streams) {
      for (Operation& operation : stream.operations) {
        operation.peer = operation.peer == trace::nothing ? trace::nothing : target(operation.peer);
      }
      for (StreamPoint& point : stream.others) {
        point.stream += first_stream[rank];
      }
      stream.name = fmt::format("{} {}", rank, stream.name);
      streams.push_back(std::move(stream));
    }
  }
  for (detail::PairOfPlaces& pair : pairs) {
    for (detail::Place* place : {&pair.send, &pair.receive}) {
      place->stream += first_stream[place->rank];
      place->rank = target(place->rank);
    }
  }
  detail::number_messages(folded, pairs);
  return folded;
}

Result<Schedule> tile(const Schedule& schedule, std::uint32_t times) {
  const auto size = static_cast<std::uint32_t>(schedule.ranks.size());
  if (times == 0 || std::uint64_t{times} * size > copied_ranks_max) {
    return Error{ErrorCode::bad_argument,
                 fmt::format("{} times {} ranks: from 1 to {} ranks are possible", times, size, copied_ranks_max)};
  }
  if (times == 1) {
    return schedule;
  }
  Schedule tiled;
  tiled.length = schedule.length;
  tiled.notices = schedule.notices;
  tiled.notices.push_back(
      fmt::format("{} ranks laid out {} times: messages stay within each copy, and so do collectives whose data "
                  "grows with the ranks; barriers, broadcasts and reductions of all ranks span all copies",
                  size,
                  times));
  std::uint32_t next = schedule.communicators.empty() ? 1 : schedule.communicators.rbegin()->first + 1;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;  // by communicator and copy
  const auto number_of = [&](std::uint32_t communicator, std::uint32_t copy) {
    const auto [known, is_new] = numbers.try_emplace({communicator, copy}, next);
    if (is_new) {
      std::vector<std::uint32_t> members = detail::members_of(schedule, communicator);
      std::ranges::for_each(members, [&](std::uint32_t& member) { member += copy * size; });
      tiled.communicators.emplace(next++, std::move(members));
    }
    return known->second;
  };
  tiled.ranks.reserve(std::size_t{times} * size);
  for (std::uint32_t copy = 0; copy < times; ++copy) {
    for (const RankSchedule& rank : schedule.ranks) {
      RankSchedule& copied = tiled.ranks.emplace_back(rank);
      for (Stream& stream : copied.streams) {
        for (Operation& operation : stream.operations) {
          const bool is_collective = operation.action == Action::collective;
          if (is_collective && operation.communicator == 0 && is_of_any_size(operation.collective)) {
            continue;  // over all copies; a root is in the first
          }
          const bool has_peer =
              operation.action == Action::send || operation.action == Action::receive || is_collective;
          if (has_peer && operation.peer != trace::nothing) {
            operation.peer += copy * size;
          }
          if (is_collective) {
            operation.communicator = number_of(operation.communicator, copy);
          }
        }
      }
    }
  }
  return tiled;
}

Result<Schedule> onto_ranks(const Schedule& schedule, std::uint32_t ranks) {
  const std::size_t before = schedule.ranks.size();
  if (ranks <= before || before == 0) {
    return fold(schedule, ranks);
  }
  auto tiled = tile(schedule, static_cast<std::uint32_t>((ranks + before - 1) / before));
  if (!tiled || tiled.value().ranks.size() == ranks) {
    return tiled;
  }
  return fold(tiled.value(), ranks);
}

}  // namespace plait::replay
