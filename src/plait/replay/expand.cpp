// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/expand.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/replay/detail/collective_rounds.hpp"
#include "plait/replay/detail/places.hpp"

namespace plait::replay {
namespace {

using detail::Entered;
using detail::Place;
using detail::Round;

using Members = std::vector<std::uint32_t>;

class Expansion {
 public:
  explicit Expansion(const Schedule& schedule) : schedule_{schedule} {
    for (const auto& [communicator, lists] : detail::collectives_of(schedule)) {
      enter(communicator, lists);
    }
  }

  [[nodiscard]] Schedule run() {
    Schedule expanded;
    expanded.communicators = schedule_.communicators;
    for (const auto& [number, members] : members_) {
      expanded.communicators.emplace(expanded_communicator + number, members);
    }
    expanded.length = schedule_.length;
    expanded.notices = schedule_.notices;
    expanded.ranks.resize(schedule_.ranks.size());
    for (std::uint32_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
      expanded.ranks[rank].streams.resize(schedule_.ranks[rank].streams.size());
      for (std::uint32_t stream = 0; stream < expanded.ranks[rank].streams.size(); ++stream) {
        expand_stream(rank, stream, expanded.ranks[rank].streams[stream]);
      }
    }
    return expanded;
  }

 private:
  /// `lists`: the collectives of each member.
  void enter(std::uint32_t communicator, const std::vector<std::vector<Place>>& lists) {
    const Members& members = members_[communicator] = detail::members_of(schedule_, communicator);
    const std::size_t count = lists.front().size();
    expect(std::ranges::all_of(lists, [&](const std::vector<Place>& list) { return list.size() == count; }),
           "all members enter every collective");
    for (std::size_t n = 0; n < count; ++n) {
      const Operation& first = operation_at(schedule_, lists.front()[n]);
      const auto root = std::ranges::find(members, first.peer);
      Entered entered;
      entered.kind = first.collective;
      entered.root = root == members.end() ? 0 : static_cast<std::uint32_t>(root - members.begin());
      bool is_direct = false;
      for (std::uint32_t me = 0; me < lists.size(); ++me) {
        const Place& place = lists[me][n];
        const Stream& stream = stream_at(schedule_, place);
        const Operation& operation = stream.operations[place.operation];
        entered.given.push_back(operation.bytes);
        entered.shares.push_back(std::span{stream.shares}.subspan(operation.first, operation.count));
        is_direct = is_direct || !detail::is_waited_for_at_once(stream, place.operation);
        roles_[place] = {entered_.size(), me, &members, n};
      }
      entered_.push_back(std::move(entered));
      is_direct_.push_back(is_direct);
    }
  }

  void expand_stream(std::uint32_t rank, std::uint32_t index, Stream& into) {
    const Stream& stream = schedule_.ranks[rank].streams[index];
    into.name = stream.name;
    std::vector<std::vector<std::uint32_t>> became(stream.operations.size());  // what replaces each operation
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
                                     .peer = (*role.members)[message.peer],
                                     .tag = role.tag,
                                     .bytes = message.bytes,
                                     .at = of.at});
        }
      }
      return begun;
    };
    for (std::uint32_t i = 0; i < stream.operations.size(); ++i) {
      const Operation& operation = stream.operations[i];
      if (operation.action == Action::collective) {
        const Role& role = roles_.at({rank, index, i});
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
        for (const std::uint32_t waited : std::span{stream.waited}.subspan(operation.first, operation.count)) {
          operations.insert(operations.end(), became[waited].begin(), became[waited].end());
        }
        if (operations.empty()) {  // of collectives in which it had nothing to do
          into.operations.push_back({.action = Action::poll, .step = operation.step, .at = operation.at});
        } else {
          wait_for(operations, operation);
        }
        continue;
      }
      became[i] = {static_cast<std::uint32_t>(into.operations.size())};
      into.operations.push_back(operation);
    }
  }

  struct Role {
    std::size_t entered = 0;  ///< Index into `entered_`.
    std::uint32_t me = 0;
    const Members* members = nullptr;
    std::uint64_t tag = 0;
  };

  const Schedule& schedule_;
  std::map<std::uint32_t, Members> members_;  ///< Of communicators that have collectives.
  std::vector<Entered> entered_;
  std::vector<bool> is_direct_;  ///< By index into `entered_`: one member does not wait at once.
  std::map<Place, Role> roles_;
};

}  // namespace

Schedule without_collectives(const Schedule& schedule) {
  return Expansion{schedule}.run();
}

}  // namespace plait::replay
