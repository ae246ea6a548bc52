// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/expand.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/replay/detail/collective_places.hpp"
#include "plait/replay/detail/collective_rounds.hpp"

namespace plait::replay {
namespace {

using detail::Entered;
using detail::is_waited_for_at_once;
using detail::Round;

/// Where a collective operation stands.
struct Place {
  std::uint32_t rank = 0;
  std::size_t lane = 0;
  std::size_t operation = 0;
};

using Members = std::vector<std::uint32_t>;

/// The collectives of one communicator: the n-th operations of all members together.
class Communicator {
 public:
  explicit Communicator(Members members) : members_{std::move(members)} {
    for (std::uint32_t i = 0; i < members_.size(); ++i) {
      places_.try_emplace(members_[i], i);
    }
  }

  [[nodiscard]] const Members& members() const { return members_; }

  /// Of a rank; the first, where it is in both sides of an inter-communicator.
  [[nodiscard]] std::uint32_t place_of(std::uint32_t rank) const {
    const auto found = places_.find(rank);
    return found == places_.end() ? 0 : found->second;
  }

  std::map<std::uint32_t, std::vector<Place>> calls;  ///< By rank, in order.

 private:
  Members members_;
  std::map<std::uint32_t, std::uint32_t> places_;
};

class Expansion {
 public:
  explicit Expansion(const Schedule& schedule) : schedule_{schedule} { collect(); }

  [[nodiscard]] Schedule run();

 private:
  void collect();
  void enter(Communicator& communicator);
  void expand_lane(std::uint32_t rank, std::size_t index, Lane& into);

  struct Role {
    std::size_t entered = 0;  ///< Index into `entered_`.
    std::uint32_t me = 0;
    const Communicator* communicator = nullptr;
    std::uint64_t tag = 0;
  };

  const Schedule& schedule_;
  std::map<std::uint32_t, Communicator> communicators_;
  std::vector<Entered> entered_;
  std::vector<bool> is_direct_;  ///< By index into `entered_`: one member does not wait at once.
  std::map<std::pair<std::uint32_t, std::size_t>, std::map<std::size_t, Role>>
      roles_;  ///< By rank and lane, operation.
};

void Expansion::collect() {
  for (std::uint32_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
    const auto& lanes = schedule_.ranks[rank].lanes;
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      for (std::size_t i = 0; i < lanes[lane].operations.size(); ++i) {
        const Operation& operation = lanes[lane].operations[i];
        if (operation.action != Action::collective) {
          continue;
        }
        auto known = communicators_.find(operation.communicator);
        if (known == communicators_.end()) {
          Members members(schedule_.ranks.size());
          std::iota(members.begin(), members.end(), 0);
          const auto told = schedule_.communicators.find(operation.communicator);
          known = communicators_
                      .emplace(operation.communicator,
                               Communicator{told == schedule_.communicators.end() ? std::move(members) : told->second})
                      .first;
        }
        known->second.calls[rank].push_back({rank, lane, i});
      }
    }
  }
  for (auto& [number, communicator] : communicators_) {
    for (auto& [rank, calls] : communicator.calls) {  // lanes of one rank share the order of logging
      std::ranges::stable_sort(calls, {}, [&](const Place& place) {
        return schedule_.ranks[place.rank].lanes[place.lane].operations[place.operation].at;
      });
    }
    enter(communicator);
  }
}

void Expansion::enter(Communicator& communicator) {
  const std::size_t count = communicator.calls.begin()->second.size();
  for (const std::uint32_t member : communicator.members()) {
    const auto calls = communicator.calls.find(member);
    expect(calls != communicator.calls.end() && calls->second.size() == count, "all members enter every collective");
  }
  for (std::size_t n = 0; n < count; ++n) {
    Entered entered;
    bool is_direct = false;
    for (const std::uint32_t member : communicator.members()) {
      const Place& place = communicator.calls.at(member)[n];
      const Lane& lane = schedule_.ranks[place.rank].lanes[place.lane];
      const Operation& operation = lane.operations[place.operation];
      entered.kind = operation.collective;
      entered.root = operation.peer == trace::nothing ? 0 : communicator.place_of(operation.peer);
      entered.given.push_back(operation.bytes);
      entered.shares.push_back(std::span{lane.shares}.subspan(operation.first, operation.count));
      is_direct = is_direct || !is_waited_for_at_once(lane, place.operation);
      roles_[{place.rank, place.lane}][place.operation] = {
          entered_.size(), communicator.place_of(place.rank), &communicator, n};
    }
    entered_.push_back(std::move(entered));
    is_direct_.push_back(is_direct);
  }
}

void Expansion::expand_lane(std::uint32_t rank, std::size_t index, Lane& into) {
  const Lane& lane = schedule_.ranks[rank].lanes[index];
  const auto roles = roles_.find({rank, index});
  into.name = lane.name;
  std::vector<std::vector<std::uint32_t>> became(lane.operations.size());  // what stands for each operation
  const auto wait_for = [&](std::span<const std::uint32_t> operations, Operation wait) {
    wait.action = Action::wait;
    wait.first = static_cast<std::uint32_t>(into.waited.size());
    wait.count = static_cast<std::uint32_t>(operations.size());
    into.waited.insert(into.waited.end(), operations.begin(), operations.end());
    into.operations.push_back(wait);
  };
  const auto begin = [&](const Round& round, const Operation& of, const Role& role) {
    std::vector<std::uint32_t> begun;
    for (const Action action : {Action::receive, Action::send}) {
      for (const auto& message : action == Action::send ? round.sends : round.receives) {
        begun.push_back(static_cast<std::uint32_t>(into.operations.size()));
        into.operations.push_back({.action = action,
                                   .step = of.step,
                                   .communicator = expanded_communicator + of.communicator,
                                   .peer = role.communicator->members()[message.peer],
                                   .tag = role.tag,
                                   .bytes = message.bytes,
                                   .at = of.at});
      }
    }
    return begun;
  };
  for (std::size_t i = 0; i < lane.operations.size(); ++i) {
    Operation operation = lane.operations[i];
    if (operation.action == Action::collective) {
      const Role& role = roles->second.at(i);
      const std::vector<Round> rounds = detail::rounds_of(entered_[role.entered], role.me, is_direct_[role.entered]);
      for (std::size_t round = 0; round < rounds.size(); ++round) {
        became[i] = begin(rounds[round], operation, role);
        if (round + 1 < rounds.size()) {
          wait_for(became[i], {.step = operation.step, .at = operation.at});
        }
      }
      continue;
    }
    if (operation.action == Action::wait) {
      std::vector<std::uint32_t> operations;
      for (const std::uint32_t waited : std::span{lane.waited}.subspan(operation.first, operation.count)) {
        operations.insert(operations.end(), became[waited].begin(), became[waited].end());
      }
      if (operations.empty()) {  // of collectives in which it had nothing to do
        into.operations.push_back({.action = Action::look, .step = operation.step, .at = operation.at});
      } else {
        wait_for(operations, operation);
      }
      continue;
    }
    became[i] = {static_cast<std::uint32_t>(into.operations.size())};
    into.operations.push_back(operation);
  }
}

Schedule Expansion::run() {
  Schedule expanded;
  expanded.communicators = schedule_.communicators;
  for (const auto& [number, communicator] : communicators_) {
    expanded.communicators.emplace(expanded_communicator + number, communicator.members());
  }
  expanded.length = schedule_.length;
  expanded.notices = schedule_.notices;
  expanded.ranks.resize(schedule_.ranks.size());
  for (std::uint32_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
    const std::size_t lanes = schedule_.ranks[rank].lanes.size();
    expanded.ranks[rank].lanes.resize(lanes);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      expand_lane(rank, lane, expanded.ranks[rank].lanes[lane]);
    }
  }
  return expanded;
}

}  // namespace

Schedule without_collectives(const Schedule& schedule) {
  return Expansion{schedule}.run();
}

}  // namespace plait::replay
