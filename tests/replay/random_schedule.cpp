// SPDX-License-Identifier: Apache-2.0
#include "replay/random_schedule.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "plait/replay/detail/stream_builder.hpp"

namespace plait::replay {
namespace {

using Kind = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t>;
using Place = std::tuple<std::uint32_t, std::size_t, std::size_t>;  // rank, stream, operation

/// Collectives of one communicator: how many each member has entered, and with what.
struct Gathering {
  std::map<std::uint32_t, std::vector<Place>> entered;
};

class PlainModel {
 public:
  explicit PlainModel(const Schedule& schedule) : schedule_{schedule} {
    for (const RankSchedule& rank : schedule.ranks) {
      next_.emplace_back(rank.streams.size(), 0);
    }
  }

  CarriedOut run() {
    bool moved = true;
    while (moved && trouble_.empty()) {
      moved = false;
      for (std::uint32_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
        for (std::size_t stream = 0; stream < schedule_.ranks[rank].streams.size(); ++stream) {
          while (trouble_.empty() && advance(rank, stream)) {
            moved = true;
          }
        }
      }
    }
    result_.stuck = trouble_;
    result_.is_finished = trouble_.empty();
    for (std::uint32_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
      for (std::size_t stream = 0; stream < schedule_.ranks[rank].streams.size(); ++stream) {
        if (next_[rank][stream] < schedule_.ranks[rank].streams[stream].operations.size() && result_.is_finished) {
          result_.is_finished = false;
          result_.stuck = fmt::format("rank {} stream {} operation {}", rank, stream, next_[rank][stream]);
        }
      }
    }
    return result_;
  }

 private:
  bool advance(std::uint32_t rank, std::size_t stream_index) {
    const Stream& stream = schedule_.ranks[rank].streams[stream_index];
    std::size_t& next = next_[rank][stream_index];
    if (next == stream.operations.size()) {
      return false;
    }
    const Operation& operation = stream.operations[next];
    const Place place{rank, stream_index, next};
    switch (operation.action) {
      case Action::compute:
        result_.computed += operation.took;
        break;
      case Action::poll:
        break;
      case Action::send:
        meet({rank, operation.peer, operation.communicator, operation.tag}, place, sends_, receives_);
        break;
      case Action::receive:
        meet({operation.peer, rank, operation.communicator, operation.tag}, place, receives_, sends_);
        break;
      case Action::collective:
        enter(rank, place, operation);
        break;
      case Action::wait:
        for (std::uint32_t i = 0; i < operation.count; ++i) {
          const std::uint32_t waited = stream.waited.at(operation.first + i);
          if (waited >= next) {
            trouble_ = fmt::format("rank {} waits for what it has not begun", rank);
          }
          if (!done_.contains({rank, stream_index, waited})) {
            return false;
          }
        }
        break;
      case Action::after:
        for (std::uint32_t i = 0; i < operation.count; ++i) {
          const StreamPoint point = stream.others.at(operation.first + i);
          if (next_.at(rank).at(point.stream) <= point.operation) {
            return false;
          }
        }
        break;
    }
    ++next;
    return true;
  }

  const Operation& at(const Place& place) const {
    return schedule_.ranks[std::get<0>(place)].streams[std::get<1>(place)].operations[std::get<2>(place)];
  }

  using Open = std::map<Kind, std::deque<Place>>;
  void meet(const Kind& kind, const Place& place, Open& own, Open& others) {
    auto& waiting = others[kind];
    if (waiting.empty()) {
      own[kind].push_back(place);
      return;
    }
    const Place other = waiting.front();
    waiting.pop_front();
    if (at(other).bytes != at(place).bytes) {
      trouble_ = fmt::format("a message of {} bytes meets {} bytes", at(other).bytes, at(place).bytes);
    }
    ++result_.messages[{std::get<0>(kind), std::get<1>(kind), at(place).bytes}];
    done_.insert_or_assign(other, true);
    done_.insert_or_assign(place, true);
  }

  void enter(std::uint32_t rank, const Place& place, const Operation& operation) {
    ++result_.collectives[operation.communicator];
    auto& entered = gatherings_[operation.communicator].entered;
    entered[rank].push_back(place);
    const std::size_t number = entered[rank].size();
    std::vector<std::uint32_t> members(schedule_.ranks.size());
    std::iota(members.begin(), members.end(), 0);
    if (operation.communicator != 0) {
      members = schedule_.communicators.at(operation.communicator);
    }
    const auto is_there = [&](std::uint32_t member) {
      return entered.contains(member) && entered[member].size() >= number;
    };
    if (std::ranges::all_of(members, is_there)) {
      for (const std::uint32_t member : members) {
        const Place& theirs = entered[member][number - 1];
        done_.insert_or_assign(theirs, true);
        if (at(theirs).collective != operation.collective || at(theirs).peer != operation.peer) {
          trouble_ = fmt::format("members of communicator {} enter different collectives", operation.communicator);
        }
      }
    }
  }

  const Schedule& schedule_;
  std::vector<std::vector<std::size_t>> next_;
  std::map<Place, bool> done_;
  Open sends_;
  Open receives_;
  std::map<std::uint32_t, Gathering> gatherings_;
  std::string trouble_;
  CarriedOut result_;
};

/// Adds to all ranks in one order of time, so that this order is a way to carry it out.
class Maker {
 public:
  Maker(Random& random, std::uint32_t ranks) : random_{random} {
    schedule_.ranks.resize(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      schedule_.ranks[rank].streams.resize(1);
    }
    for (RankSchedule& rank : schedule_.ranks) {
      streams_.emplace_back(rank.streams[0]);
    }
    open_.resize(ranks);
    if (ranks > 2) {
      schedule_.communicators[3] = {ranks - 1, 0, 1};
    }
  }

  Schedule make(int length) {
    for (int i = 0; i < length; ++i) {
      now_ += nanoseconds{10};
      const auto rank = static_cast<std::uint32_t>(random_.below(streams_.size()));
      const std::uint64_t dice = random_.below(10);
      if (dice < 5) {
        add_message(rank);
      } else if (dice < 8) {
        add_wait(rank);
      } else if (dice < 9) {
        streams_[rank].compute(now_, nanoseconds{1 + static_cast<std::int64_t>(random_.below(1000))});
      } else {
        add_collective();
      }
    }
    for (detail::StreamBuilder& stream : streams_) {
      stream.wait_for_the_rest(now_);
    }
    schedule_.length = now_;
    return std::move(schedule_);
  }

 private:
  void add_message(std::uint32_t rank) {
    if (streams_.size() < 2) {
      return;
    }
    const auto distance = 1 + random_.below(streams_.size() - 1);
    const auto peer = static_cast<std::uint32_t>((rank + distance) % streams_.size());
    Operation operation{.action = Action::send,
                        .communicator = random_.happens(0.2) ? 7U : 0U,
                        .peer = peer,
                        .tag = random_.below(3),
                        .bytes = random_.below(5000),
                        .at = now_};
    open_[rank].push_back(streams_[rank].begin(operation));
    operation.action = Action::receive;
    operation.peer = rank;
    open_[peer].push_back(streams_[peer].begin(operation));
  }

  void add_wait(std::uint32_t rank) {
    std::vector<std::uint32_t> chosen;
    std::erase_if(open_[rank], [&](std::uint32_t operation) {
      const bool is_chosen = random_.happens(0.5);
      if (is_chosen) {
        chosen.push_back(operation);
      }
      return is_chosen;
    });
    streams_[rank].wait(chosen, now_, nanoseconds{5});
  }

  void add_collective() {
    const bool is_of_some = random_.happens(0.5) && schedule_.communicators.contains(3);
    std::vector<std::uint32_t> members(streams_.size());
    std::iota(members.begin(), members.end(), 0);
    if (is_of_some) {
      members = schedule_.communicators[3];
    }
    const auto kind = static_cast<Collective>(1 + random_.below(10));
    const bool has_root = kind == Collective::broadcast || kind == Collective::reduce || kind == Collective::gather ||
                          kind == Collective::scatter;
    const std::uint32_t root = has_root ? members[random_.below(members.size())] : trace::nothing;
    const bool is_begun = random_.happens(0.3);
    const std::uint64_t bytes = random_.below(3000);
    for (const std::uint32_t member : members) {
      const std::uint32_t operation = streams_[member].begin({.action = Action::collective,
                                                              .collective = kind,
                                                              .communicator = is_of_some ? 3U : 0U,
                                                              .peer = root,
                                                              .bytes = bytes,
                                                              .at = now_});
      if (is_begun) {
        open_[member].push_back(operation);
      } else {
        streams_[member].wait(std::vector{operation}, now_, nanoseconds{5});
      }
    }
  }

  Random& random_;
  Schedule schedule_;
  std::vector<detail::StreamBuilder> streams_;
  std::vector<std::vector<std::uint32_t>> open_;
  nanoseconds now_{};
};

}  // namespace

CarriedOut carry_out(const Schedule& schedule) {
  return PlainModel{schedule}.run();
}

Schedule random_schedule(Random& random, std::uint32_t ranks, int length) {
  return Maker{random, ranks}.make(length);
}

}  // namespace plait::replay
