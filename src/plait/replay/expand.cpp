// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/expand.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/replay/detail/places.hpp"
#include "plait/replay/detail/rounds.hpp"

namespace plait::replay {
namespace {

using detail::Place;
using detail::Round;
using detail::Rounds;

using Members = std::vector<std::uint32_t>;

/// One collective as all its members call it.
struct Entered {
  Collective kind = Collective::none;
  std::uint32_t root = 0;       ///< Index of the member.
  std::uint64_t bytes_max = 0;  ///< Of what one member gives.
  std::uint64_t tag = 0;        ///< Of its messages.
  bool is_direct = false;       ///< A member does not wait at once, so there can be one round only.
  const Members* members = nullptr;
  std::vector<Place> places;  ///< By member.

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(places.size()); }
};

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
      std::vector<std::vector<std::uint32_t>> numbers;
      for (std::uint32_t stream = 0; stream < expanded.ranks[rank].streams.size(); ++stream) {
        numbers.push_back(expand_stream(rank, stream, expanded.ranks[rank].streams[stream]));
      }
      detail::renumber_points(expanded.ranks[rank], numbers);
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
      const auto root = std::ranges::find(members, first.peer) - members.begin();
      Entered entered{.kind = first.collective,
                      .root = root == std::ssize(members) ? 0 : static_cast<std::uint32_t>(root),
                      .tag = n,
                      .members = &members};
      for (const std::vector<Place>& list : lists) {
        const Place& place = list[n];
        entered.bytes_max = std::max(entered.bytes_max, operation_at(schedule_, place).bytes);
        entered.is_direct |= !detail::is_waited_for_at_once(stream_at(schedule_, place), place.operation);
        roles_[place] = {entered_.size(), static_cast<std::uint32_t>(entered.places.size())};
        entered.places.push_back(place);
      }
      entered_.push_back(std::move(entered));
    }
  }

  [[nodiscard]] Rounds rounds_of(const Entered& entered, std::uint32_t member) const {
    using enum Collective;
    const Operation& operation = operation_at(schedule_, entered.places[member]);
    const Stream& stream = stream_at(schedule_, entered.places[member]);
    const bool differs = entered.kind == gather || entered.kind == all_to_all || entered.kind == reduce_scatter;
    return Rounds{{.kind = entered.kind,
                   .member = member,
                   .root = entered.root,
                   .members = entered.size(),
                   .given = differs ? operation.bytes : entered.bytes_max,
                   .got = entered.kind == all_gather ? entered.bytes_max * entered.size()
                          : entered.kind == scatter  ? entered.bytes_max / entered.size()
                                                     : entered.bytes_max,
                   .shares = operation.count == entered.size() ? &stream.shares[operation.first] : nullptr,
                   .has_rings = false}};
  }

  /// The bytes of the message between two members, if there is one, where each gives to all those concerned at once.
  [[nodiscard]] std::optional<std::uint64_t> direct_bytes(const Entered& entered,
                                                          std::uint32_t from,
                                                          std::uint32_t to) const {
    using enum Collective;
    const Collective kind = entered.kind;
    const bool is_concerned = kind == broadcast || kind == scatter ? from == entered.root
                              : kind == reduce || kind == gather   ? to == entered.root
                              : kind == scan                       ? from < to
                                                                   : true;
    if (!is_concerned) {
      return std::nullopt;
    }
    const Operation& operation = operation_at(schedule_, entered.places[from]);
    if (operation.count == entered.size()) {
      return stream_at(schedule_, entered.places[from]).shares[operation.first + to];
    }
    const bool divides = kind == all_to_all || kind == scatter || kind == reduce_scatter;
    return divides ? operation.bytes / entered.size() : operation.bytes;
  }

  /// Returns, for each operation, the number of the last one that is in its place or before it.
  std::vector<std::uint32_t> expand_stream(std::uint32_t rank, std::uint32_t index, Stream& into) {
    const Stream& stream = schedule_.ranks[rank].streams[index];
    into.name = stream.name;
    into.others = stream.others;
    std::vector<std::vector<std::uint32_t>> became(stream.operations.size());  // what replaces each operation
    std::vector<std::uint32_t> last;
    const auto wait_for = [&](std::span<const std::uint32_t> operations, Operation wait) {
      wait.action = Action::wait;
      wait.first = static_cast<std::uint32_t>(into.waited.size());
      wait.count = static_cast<std::uint32_t>(operations.size());
      into.waited.insert(into.waited.end(), operations.begin(), operations.end());
      into.operations.push_back(wait);
    };
    for (std::uint32_t i = 0; i < stream.operations.size(); ++i) {
      const Operation& operation = stream.operations[i];
      if (operation.action == Action::collective) {
        expand_collective({rank, index, i}, into, became[i], wait_for);
      } else if (operation.action == Action::wait) {
        std::vector<std::uint32_t> operations;
        for (const std::uint32_t waited : std::span{stream.waited}.subspan(operation.first, operation.count)) {
          operations.insert(operations.end(), became[waited].begin(), became[waited].end());
        }
        if (operations.empty()) {  // of collectives in which it had nothing to do
          into.operations.push_back({.action = Action::poll, .step = operation.step, .at = operation.at});
        } else {
          wait_for(operations, operation);
        }
      } else {
        became[i] = {static_cast<std::uint32_t>(into.operations.size())};
        into.operations.push_back(operation);
      }
      last.push_back(into.operations.empty() ? 0 : static_cast<std::uint32_t>(into.operations.size() - 1));
    }
    return last;
  }

  /// Adds a member's messages of a collective, and a wait after each round but the last, which is left in `begun`.
  template <class WaitFor>
  void expand_collective(const Place& place, Stream& into, std::vector<std::uint32_t>& begun, const WaitFor& wait_for) {
    const auto& [number, me] = roles_.at(place);
    const Entered& entered = entered_[number];
    const Operation& of = operation_at(schedule_, place);
    const auto begin = [&](Action action, std::uint32_t member, std::uint64_t bytes) {
      begun.push_back(static_cast<std::uint32_t>(into.operations.size()));
      into.operations.push_back({.action = action,
                                 .step = of.step,
                                 .communicator = expanded_communicator + of.communicator,
                                 .peer = (*entered.members)[member],
                                 .tag = entered.tag,
                                 .bytes = bytes,
                                 .at = of.at});
    };
    if (entered.is_direct) {
      const std::uint32_t size = entered.size();
      for (const Action action : {Action::receive, Action::send}) {
        const bool is_send = action == Action::send;
        for (std::uint32_t distance = 1; distance < size; ++distance) {
          const std::uint32_t other = (is_send ? me + distance : me + size - distance) % size;
          if (const auto bytes = direct_bytes(entered, is_send ? me : other, is_send ? other : me)) {
            begin(action, other, *bytes);
          }
        }
      }
      return;
    }
    const Rounds rounds = rounds_of(entered, me);
    for (std::uint32_t i = 0; i < rounds.count(); ++i) {
      const Round round = rounds.round(i);
      if (round.from == Round::no_member && round.to == Round::no_member) {
        continue;
      }
      if (!begun.empty()) {
        wait_for(begun, {.step = of.step, .at = of.at});
        begun.clear();
      }
      if (round.from != Round::no_member) {
        begin(Action::receive, round.from, rounds_of(entered, round.from).round(i).bytes);
      }
      if (round.to != Round::no_member) {
        begin(Action::send, round.to, round.bytes);
      }
    }
  }

  struct Role {
    std::size_t entered = 0;  ///< Index into `entered_`.
    std::uint32_t member = 0;
  };

  const Schedule& schedule_;
  std::map<std::uint32_t, Members> members_;  ///< Of communicators that have collectives.
  std::vector<Entered> entered_;
  std::map<Place, Role> roles_;
};

}  // namespace

Schedule without_collectives(const Schedule& schedule) {
  return Expansion{schedule}.run();
}

}  // namespace plait::replay
