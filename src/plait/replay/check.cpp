// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/check.hpp"

#include <algorithm>
#include <chrono>
#include <compare>
#include <map>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "plait/replay/detail/collective_places.hpp"

namespace plait::replay {
namespace {

using detail::CollectivePlace;

/// An operation of a schedule.
struct Where {
  std::uint32_t rank = 0;
  std::uint32_t lane = 0;
  std::uint32_t index = 0;
  auto operator<=>(const Where&) const = default;
};

/// A send or a receive, with what it is matched by.
struct Half {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t communicator = 0;
  std::uint64_t tag = 0;
  nanoseconds at{};
  Where where;

  [[nodiscard]] auto key() const { return std::tie(source, destination, communicator, tag); }
};

class Check {
 public:
  Check(const Schedule& schedule, std::size_t sentences_max) : schedule_{schedule}, sentences_max_{sentences_max} {}

  std::vector<std::string> sentences() {
    check_ranks();
    if (found_ == 0) {
      gather_messages();
      match_messages();
      match_collectives();
    }
    if (found_ == 0) {
      run_through();
    }
    if (found_ > sentences_.size()) {
      sentences_.push_back(fmt::format("and {} more", found_ - sentences_.size()));
    }
    return std::move(sentences_);
  }

 private:
  [[nodiscard]] const Lane& lane(const Where& where) const { return schedule_.ranks[where.rank].lanes[where.lane]; }
  [[nodiscard]] const Operation& at(const Where& where) const { return lane(where).operations[where.index]; }
  [[nodiscard]] std::string describe_at(const Where& where) const {
    return describe(at(where), where.rank, lane(where), where.index);
  }

  void tell(std::string sentence) {
    if (++found_ <= sentences_max_) {
      sentences_.push_back(std::move(sentence));
    }
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
      const std::vector<Lane>& lanes = schedule_.ranks[rank].lanes;
      for (std::uint32_t i = 0; i < lanes.size(); ++i) {
        for (std::uint32_t j = 0; j < lanes[i].operations.size(); ++j) {
          visit(Where{rank, i, j}, lanes[i].operations[j]);
        }
      }
    }
  }

  void check_ranks() {
    const std::size_t count = schedule_.ranks.size();
    for (const auto& [communicator, members] : schedule_.communicators) {
      if (std::ranges::any_of(members, [&](std::uint32_t member) { return member >= count; })) {
        tell(fmt::format("communicator {} has members that are none of the {} ranks", communicator, count));
      }
    }
    for_each([&](const Where& where, const Operation& operation) {
      const bool is_message = operation.action == Action::send || operation.action == Action::receive;
      if (is_message && operation.peer >= count) {
        tell(fmt::format("{}, but there are {} ranks only", describe_at(where), count));
      }
      if (is_message || operation.action == Action::collective) {
        check_member(where, operation);
      }
    });
  }

  void check_member(const Where& where, const Operation& operation) {
    const auto found = schedule_.communicators.find(operation.communicator);
    if (found == schedule_.communicators.end()) {
      return;  // all ranks
    }
    const auto is_in = [&](std::uint32_t rank) {
      return std::ranges::find(found->second, rank) != found->second.end();
    };
    const bool has_peer = operation.peer != trace::nothing;
    if (!is_in(where.rank) || (has_peer && !is_in(operation.peer))) {
      tell(fmt::format("{}, but not both are members of that communicator", describe_at(where)));
    }
  }

  void gather_messages() {
    for_each([&](const Where& where, const Operation& operation) {
      if (operation.action == Action::send) {
        sends_.push_back({where.rank, operation.peer, operation.communicator, operation.tag, operation.at, where});
      } else if (operation.action == Action::receive) {
        receives_.push_back({operation.peer, where.rank, operation.communicator, operation.tag, operation.at, where});
      }
    });
    const auto is_before = [](const Half& left, const Half& right) {
      return std::tie(left.source, left.destination, left.communicator, left.tag, left.at, left.where) <
             std::tie(right.source, right.destination, right.communicator, right.tag, right.at, right.where);
    };
    std::ranges::sort(sends_, is_before);
    std::ranges::sort(receives_, is_before);
  }

  void match_messages() {
    auto send = sends_.begin();
    auto receive = receives_.begin();
    while (send != sends_.end() || receive != receives_.end()) {
      const bool has_both = send != sends_.end() && receive != receives_.end();
      if (has_both && send->key() == receive->key()) {
        if (at(send->where).bytes > at(receive->where).bytes) {
          tell(fmt::format("{}, but {}: too short for it", describe_at(send->where), describe_at(receive->where)));
        }
        pairs_.emplace_back(receive->where, send->where);
        ++send;
        ++receive;
      } else if (receive == receives_.end() || (has_both && send->key() < receive->key())) {
        tell(fmt::format("{}, and rank {} never receives it", describe_at(send->where), send->destination));
        ++send;
      } else {
        tell(fmt::format("{}, and rank {} never sends it", describe_at(receive->where), receive->source));
        ++receive;
      }
    }
  }

  void match_collectives() {
    for (const auto& [communicator, lists] : detail::collectives_of(schedule_)) {
      const auto members = detail::members_of(schedule_, communicator);
      for (std::size_t member = 1; member < lists.size(); ++member) {
        const std::size_t count = std::min(lists[0].size(), lists[member].size());
        for (std::size_t k = 0; k < count; ++k) {
          const Where first{lists[0][k].rank, lists[0][k].lane, lists[0][k].operation};
          const Where other{lists[member][k].rank, lists[member][k].lane, lists[member][k].operation};
          if (at(first).collective != at(other).collective || at(first).peer != at(other).peer) {
            tell(fmt::format("{}, while {}", describe_at(first), describe_at(other)));
            break;
          }
        }
        if (lists[0].size() != lists[member].size()) {
          tell(fmt::format("rank {} calls {} collectives on communicator {}, rank {} calls {}",
                           members[0],
                           lists[0].size(),
                           communicator,
                           members[member],
                           lists[member].size()));
        }
      }
    }
  }

  // --- whether the lanes can go to their ends, one after the other ------------------------------------------------

  void run_through() {
    std::ranges::sort(pairs_);
    for (const auto& [communicator, lists] : detail::collectives_of(schedule_)) {
      for (std::size_t k = 0; !lists.empty() && k < lists[0].size(); ++k) {
        std::vector<Where> all;
        for (const auto& list : lists) {
          all.push_back({list[k].rank, list[k].lane, list[k].operation});
        }
        for (const Where& one : all) {
          together_.emplace(one, all);
        }
      }
    }
    begun_.resize(schedule_.ranks.size());
    for (std::size_t rank = 0; rank < begun_.size(); ++rank) {
      begun_[rank].resize(schedule_.ranks[rank].lanes.size());
    }
    bool has_moved = true;
    while (has_moved) {
      has_moved = false;
      for (std::uint32_t rank = 0; rank < begun_.size(); ++rank) {
        for (std::uint32_t i = 0; i < begun_[rank].size(); ++i) {
          has_moved = advance(rank, i) || has_moved;
        }
      }
    }
    tell_of_the_stuck();
  }

  bool advance(std::uint32_t rank, std::uint32_t i) {
    const Lane& here = schedule_.ranks[rank].lanes[i];
    std::uint32_t& begun = begun_[rank][i];
    const std::uint32_t before = begun;
    while (begun < here.operations.size() && !blocked_at({rank, i, begun})) {
      ++begun;
    }
    return begun > before;
  }

  /// The operation that a wait cannot pass yet.
  [[nodiscard]] const Where* blocked_at(const Where& where) {
    const Operation& operation = at(where);
    if (operation.action != Action::wait) {
      return nullptr;
    }
    for (std::uint32_t i = 0; i < operation.count; ++i) {
      blocking_ = {where.rank, where.lane, lane(where).waited[operation.first + i]};
      if (!has_ended(blocking_)) {
        return &blocking_;
      }
    }
    return nullptr;
  }

  [[nodiscard]] bool has_begun(const Where& where) const { return begun_[where.rank][where.lane] > where.index; }

  [[nodiscard]] bool has_ended(const Where& where) const {
    if (at(where).action == Action::receive) {
      const auto pair = std::ranges::lower_bound(pairs_, where, {}, &std::pair<Where, Where>::first);
      return has_begun(pair->second);
    }
    if (at(where).action == Action::collective) {
      return std::ranges::all_of(together_.at(where), [&](const Where& other) { return has_begun(other); });
    }
    return true;
  }

  void tell_of_the_stuck() {
    for (std::uint32_t rank = 0; rank < begun_.size(); ++rank) {
      for (std::uint32_t i = 0; i < begun_[rank].size(); ++i) {
        if (begun_[rank][i] < schedule_.ranks[rank].lanes[i].operations.size()) {
          const Where* const blocking = blocked_at({rank, i, begun_[rank][i]});
          tell(fmt::format("{} waits for ever: {}", fmt::format("rank {}", rank), describe_at(*blocking)));
        }
      }
    }
  }

  const Schedule& schedule_;
  const std::size_t sentences_max_;
  std::size_t found_ = 0;
  std::vector<std::string> sentences_;
  std::vector<Half> sends_;
  std::vector<Half> receives_;
  std::vector<std::pair<Where, Where>> pairs_;  ///< Receive and send, sorted.
  std::map<Where, std::vector<Where>> together_;
  std::vector<std::vector<std::uint32_t>> begun_;  ///< Operations, of each rank's lanes.
  Where blocking_;
};

}  // namespace

std::vector<std::string> find_trouble(const Schedule& schedule, std::size_t sentences_max) {
  return Check{schedule, sentences_max}.sentences();
}

std::string describe(const Operation& operation, std::uint32_t rank, const Lane& lane, std::size_t index) {
  const auto milliseconds = std::chrono::duration<double, std::milli>{operation.at}.count();
  const std::string place =
      fmt::format("(operation {} of lane {}, {:.3f} ms into the log)", index + 1, lane.name, milliseconds);
  switch (operation.action) {
    case Action::send:
    case Action::receive:
      return fmt::format("rank {} {} {} bytes {} rank {}, tag {}, communicator {} {}",
                         rank,
                         operation.action == Action::send ? "sends" : "receives",
                         operation.bytes,
                         operation.action == Action::send ? "to" : "from",
                         operation.peer,
                         operation.tag,
                         operation.communicator,
                         place);
    case Action::collective:
      return fmt::format("rank {} calls a collective ({}{}) on communicator {} {}",
                         rank,
                         to_string(operation.collective),
                         operation.peer == trace::nothing ? "" : fmt::format(", root {}", operation.peer),
                         operation.communicator,
                         place);
    default:
      return fmt::format("rank {} {} {}", rank, operation.action == Action::wait ? "waits" : "computes", place);
  }
}

const char* to_string(Collective collective) noexcept {
  switch (collective) {
    case Collective::none:
      break;
    case Collective::barrier:
      return "barrier";
    case Collective::broadcast:
      return "broadcast";
    case Collective::reduce:
      return "reduce";
    case Collective::all_reduce:
      return "all-reduce";
    case Collective::gather:
      return "gather";
    case Collective::scatter:
      return "scatter";
    case Collective::all_gather:
      return "all-gather";
    case Collective::all_to_all:
      return "all-to-all";
    case Collective::reduce_scatter:
      return "reduce-scatter";
    case Collective::scan:
      return "scan";
  }
  return "none";
}

}  // namespace plait::replay
