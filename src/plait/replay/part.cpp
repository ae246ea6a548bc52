// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/part.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "plait/replay/detail/places.hpp"

namespace plait::replay {
namespace {

/// One collective as all its members call it.
class Together {
 public:
  Together(const Schedule& schedule, std::span<const detail::Place> members) : schedule_{schedule}, members_{members} {}

  [[nodiscard]] CollectiveShares shares_of(std::size_t member) const {
    CollectiveShares shares;
    const std::size_t size = members_.size();
    for (std::size_t other = 0; other < size; ++other) {
      shares.given.push_back(given(member, other));
      shares.got.push_back(given(other, member));
    }
    return shares;
  }

  /// Whether all members call it on their only stream, and then wait for it alone.
  [[nodiscard]] bool is_waited_by_all() const {
    return std::ranges::all_of(members_, [&](const detail::Place& member) {
      const std::vector<Stream>& streams = schedule_.ranks[member.rank].streams;
      return streams.size() == 1 && detail::is_waited_for_at_once(streams.front(), member.operation) &&
             streams.front().operations[member.operation + 1].count == 1;
    });
  }

  /// Whether the bytes that members give to each other differ.
  [[nodiscard]] bool has_shares() const {
    using enum Collective;
    const Collective kind = operation(0).collective;
    if (kind != all_to_all && kind != gather && kind != all_gather && kind != scatter && kind != reduce_scatter) {
      return false;
    }
    for (std::size_t i = 0; i < members_.size(); ++i) {
      for (std::size_t j = 0; j < members_.size(); ++j) {
        if (given(i, j) != given(0, 0)) {
          return true;
        }
      }
    }
    return false;
  }

 private:
  [[nodiscard]] const Operation& operation(std::size_t member) const {
    return operation_at(schedule_, members_[member]);
  }
  [[nodiscard]] std::uint64_t given(std::size_t giver, std::size_t taker) const {
    const Operation& of_giver = operation(giver);
    switch (of_giver.collective) {
      case Collective::all_to_all:
        return of_giver.count == members_.size() ? stream_at(schedule_, members_[giver]).shares[of_giver.first + taker]
                                                 : of_giver.bytes / members_.size();
      case Collective::gather:
      case Collective::all_gather:
        return of_giver.bytes;
      default:
        return operation(taker).bytes_got;
    }
  }

  const Schedule& schedule_;
  std::span<const detail::Place> members_;
};

/// Adds to the parts what depends on all members of a collective.
void note_collectives(const Schedule& schedule, std::vector<RankPart>& parts) {
  for (const auto& [communicator, members] : detail::collectives_of(schedule)) {
    const std::size_t count = members.empty() ? 0 : members.front().size();
    for (std::size_t k = 0; k < count; ++k) {
      std::vector<detail::Place> places;
      for (const auto& list : members) {
        places.push_back(list.at(k));
      }
      const Together together{schedule, places};
      const bool is_waited_by_all = together.is_waited_by_all();
      const bool has_shares = together.has_shares();
      for (std::size_t member = 0; member < places.size(); ++member) {
        const RankPart::Where where{places[member].stream, places[member].operation};
        RankPart& part = parts[places[member].rank];
        if (is_waited_by_all) {
          part.waited_by_all.insert(where);
        }
        if (has_shares) {
          part.shares[where] = together.shares_of(member);
        }
      }
    }
  }
}

/// The messages of one source, destination, communicator and tag.
struct Flow {
  std::vector<Operation*> sends;
  std::vector<Operation*> receives;
  std::set<std::uint32_t> sending;  ///< Streams.
  std::set<std::uint32_t> receiving;
};

/// Gives each message a tag of its own where several streams of a rank post with the same one. Such messages match in
/// the order of posting, which the threads of a replay do not keep. Returns the largest tag.
std::uint64_t separate_messages(std::vector<RankPart>& parts, std::uint64_t tag_max) {
  const auto has_threads = [&](std::uint32_t rank) {
    return rank < parts.size() && parts[rank].schedule.streams.size() > 1;
  };
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t>, Flow> flows;
  for (std::uint32_t rank = 0; rank < parts.size(); ++rank) {
    std::vector<Stream>& streams = parts[rank].schedule.streams;
    for (std::uint32_t stream = 0; stream < streams.size(); ++stream) {
      for (Operation& operation : streams[stream].operations) {
        const bool is_send = operation.action == Action::send;
        if ((!is_send && operation.action != Action::receive) || !(has_threads(rank) || has_threads(operation.peer))) {
          continue;
        }
        Flow& flow = flows[{
            is_send ? rank : operation.peer, is_send ? operation.peer : rank, operation.communicator, operation.tag}];
        (is_send ? flow.sends : flow.receives).push_back(&operation);
        (is_send ? flow.sending : flow.receiving).insert(stream);
      }
    }
  }
  for (auto& [key, flow] : flows) {
    if (flow.sending.size() < 2 && flow.receiving.size() < 2) {
      continue;
    }
    for (std::vector<Operation*>* const end : {&flow.sends, &flow.receives}) {
      std::ranges::stable_sort(*end, {}, &Operation::at);
      for (std::size_t nth = 0; nth < end->size(); ++nth) {
        (*end)[nth]->tag = tag_max + 1 + nth;
      }
    }
    tag_max += std::max(flow.sends.size(), flow.receives.size());
  }
  return tag_max;
}

}  // namespace

std::vector<RankPart> divide(const Schedule& schedule) {
  std::vector<RankPart> parts(schedule.ranks.size());
  nanoseconds quiet_max{};
  std::uint64_t tag_max = 0;
  for (std::uint32_t rank = 0; rank < parts.size(); ++rank) {
    parts[rank].self = Rank{rank};
    parts[rank].rank_count = static_cast<std::uint32_t>(parts.size());
    parts[rank].schedule = schedule.ranks[rank];
    parts[rank].length = schedule.length;
    for (Stream& stream : parts[rank].schedule.streams) {
      stream.shares.clear();
      nanoseconds before{};
      for (const Operation& operation : stream.operations) {
        quiet_max = std::max({quiet_max, operation.took, operation.at - before});
        before = operation.at;
        const bool is_message = operation.action == Action::send || operation.action == Action::receive;
        tag_max = is_message ? std::max(tag_max, operation.tag) : tag_max;
      }
    }
  }
  for (const auto& [communicator, members] : schedule.communicators) {
    for (const std::uint32_t member : members) {
      if (member < parts.size()) {
        parts[member].communicators[communicator] = members;
      }
    }
  }
  note_collectives(schedule, parts);
  tag_max = separate_messages(parts, tag_max);
  for (RankPart& part : parts) {
    part.quiet_max = quiet_max;
    part.tag_max = tag_max;
  }
  return parts;
}

}  // namespace plait::replay
