// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/fold.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/replay/detail/pairing.hpp"
#include "plait/replay/expand.hpp"

namespace plait::replay {
namespace {

constexpr std::uint64_t ranks_max = 1U << 22U;

/// Whether all copies can enter it together.
bool is_of_any_size(Collective kind) {
  switch (kind) {
    case Collective::barrier:
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::all_reduce:
    case Collective::scan:
      return true;
    default:
      return false;
  }
}

/// Gives each copy communicators of its own.
class CopiedCommunicators {
 public:
  CopiedCommunicators(const Schedule& schedule, Schedule& into) : from_{schedule}, into_{into} {
    next_ = 1;
    for (const auto& [number, members] : schedule.communicators) {
      next_ = std::max(next_, number + 1);
    }
  }

  std::uint32_t number(std::uint32_t old, std::uint32_t copy) {
    const auto known = numbers_.find({old, copy});
    if (known != numbers_.end()) {
      return known->second;
    }
    const auto size = static_cast<std::uint32_t>(from_.ranks.size());
    std::vector<std::uint32_t> members;
    if (const auto told = from_.communicators.find(old); told != from_.communicators.end()) {
      members = told->second;
    } else {
      for (std::uint32_t rank = 0; rank < size; ++rank) {
        members.push_back(rank);
      }
    }
    for (std::uint32_t& member : members) {
      member += copy * size;
    }
    const std::uint32_t fresh = next_++;
    into_.communicators.emplace(fresh, std::move(members));
    numbers_.emplace(std::pair{old, copy}, fresh);
    return fresh;
  }

 private:
  const Schedule& from_;
  Schedule& into_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers_;
  std::uint32_t next_ = 1;
};

bool has_collectives(const Schedule& schedule) {
  for (const RankSchedule& rank : schedule.ranks) {
    for (const Lane& lane : rank.lanes) {
      if (std::ranges::any_of(lane.operations, [](const Operation& o) { return o.action == Action::collective; })) {
        return true;
      }
    }
  }
  return false;
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
  if (has_collectives(schedule)) {
    from.notices.push_back(fmt::format("{} ranks folded onto {}: collectives became messages", before, ranks));
  }
  std::vector<detail::PairOfPlaces> pairs = detail::pair_operations(from);
  Schedule folded;
  folded.ranks.resize(ranks);
  folded.length = from.length;
  folded.notices = std::move(from.notices);
  std::vector<std::uint32_t> first_lane(before);
  for (std::uint32_t rank = 0; rank < before; ++rank) {
    auto& lanes = folded.ranks[target(rank)].lanes;
    first_lane[rank] = static_cast<std::uint32_t>(lanes.size());
    for (Lane& lane : from.ranks[rank].lanes) {
      for (Operation& operation : lane.operations) {
        operation.peer = operation.peer == trace::nothing ? trace::nothing : target(operation.peer);
      }
      lane.name = fmt::format("{} {}", rank, lane.name);
      lanes.push_back(std::move(lane));
    }
  }
  for (detail::PairOfPlaces& pair : pairs) {
    for (detail::Place* place : {&pair.send, &pair.receive}) {
      place->lane += first_lane[place->rank];
      place->rank = target(place->rank);
    }
  }
  detail::number_messages(folded, pairs);
  return folded;
}

Result<Schedule> tile(const Schedule& schedule, std::uint32_t times) {
  const auto size = static_cast<std::uint32_t>(schedule.ranks.size());
  if (times == 0 || std::uint64_t{times} * size > ranks_max) {
    return Error{ErrorCode::bad_argument,
                 fmt::format("{} times {} ranks: from 1 to {} ranks are possible", times, size, ranks_max)};
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
  CopiedCommunicators communicators{schedule, tiled};
  tiled.ranks.reserve(std::size_t{times} * size);
  for (std::uint32_t copy = 0; copy < times; ++copy) {
    for (const RankSchedule& rank : schedule.ranks) {
      RankSchedule& copied = tiled.ranks.emplace_back(rank);
      for (Lane& lane : copied.lanes) {
        for (Operation& operation : lane.operations) {
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
            operation.communicator = communicators.number(operation.communicator, copy);
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
