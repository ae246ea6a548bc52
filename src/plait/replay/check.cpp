// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/check.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "plait/replay/detail/places.hpp"

namespace plait::replay {
namespace {

using detail::MessageEnd;
using detail::operation_at;
using detail::Place;

class Check {
 public:
  Check(const Schedule& schedule, std::size_t sentences_max)
      : schedule_{schedule}, sentences_max_{sentences_max}, sends_{detail::for_streams(schedule, [](const Stream& one) {
          return std::vector<Place>(one.operations.size());
        })} {}

  std::vector<std::string> sentences() {
    check_ranks();
    if (found_ == 0) {
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
  [[nodiscard]] const Operation& at(const Place& place) const { return operation_at(schedule_, place); }
  [[nodiscard]] std::string describe_at(const Place& place) const {
    return describe(at(place), place.rank, stream_at(schedule_, place), place.operation);
  }

  void report(std::string sentence) {
    if (++found_ <= sentences_max_) {
      sentences_.push_back(std::move(sentence));
    }
  }

  void check_ranks() {
    const std::size_t count = schedule_.ranks.size();
    for (const auto& [communicator, members] : schedule_.communicators) {
      if (std::ranges::any_of(members, [&](std::uint32_t member) { return member >= count; })) {
        report(fmt::format("communicator {} has members that are none of the {} ranks", communicator, count));
      }
    }
    detail::for_each_operation(schedule_, [&](const Place& place, const Operation& operation) {
      const bool is_message = operation.action == Action::send || operation.action == Action::receive;
      if (is_message && operation.peer >= count) {
        report(fmt::format("{}, but there are {} ranks only", describe_at(place), count));
      }
      if (is_message || operation.action == Action::collective) {
        check_member(place, operation);
      }
    });
  }

  void check_member(const Place& place, const Operation& operation) {
    const auto found = schedule_.communicators.find(operation.communicator);
    if (found == schedule_.communicators.end()) {
      return;  // all ranks
    }
    const auto is_in = [&](std::uint32_t rank) {
      return std::ranges::find(found->second, rank) != found->second.end();
    };
    if (!is_in(place.rank) || (operation.peer != trace::nothing && !is_in(operation.peer))) {
      report(fmt::format("{}, but not both are members of that communicator", describe_at(place)));
    }
  }

  void match_messages() {
    detail::match_ends(
        detail::message_ends(schedule_, Action::send),
        detail::message_ends(schedule_, Action::receive),
        [&](const MessageEnd* send, const MessageEnd* receive) {
          if (receive == nullptr) {
            report(fmt::format("{}, and rank {} never receives it", describe_at(send->place), send->destination));
            return;
          }
          const Place& there = receive->place;
          if (send == nullptr) {
            report(fmt::format("{}, and rank {} never sends it", describe_at(there), receive->source));
            return;
          }
          if (at(send->place).bytes > at(there).bytes) {
            report(fmt::format("{}, but {}: too short for it", describe_at(send->place), describe_at(there)));
          }
          sends_[there.rank][there.stream][there.operation] = send->place;
        });
  }

  void match_collectives() {
    for (const auto& [communicator, lists] : detail::collectives_of(schedule_)) {
      const auto members = detail::members_of(schedule_, communicator);
      for (std::size_t member = 1; member < lists.size(); ++member) {
        if (lists[0].size() != lists[member].size()) {
          report(fmt::format("rank {} calls {} collectives on communicator {}, rank {} calls {}",
                             members[0],
                             lists[0].size(),
                             communicator,
                             members[member],
                             lists[member].size()));
        }
        compare(lists[0], lists[member]);
      }
      for (std::size_t k = 0; found_ == 0 && k < lists[0].size(); ++k) {
        std::vector<Place>& all = collectives_.emplace_back();
        for (const std::vector<Place>& list : lists) {
          all.push_back(list[k]);
          collective_of_[list[k]] = collectives_.size() - 1;
        }
      }
    }
  }

  /// Reports the first collective in which two members differ.
  void compare(const std::vector<Place>& first, const std::vector<Place>& other) {
    const auto kind = [this](const Place& place) { return std::pair{at(place).collective, at(place).peer}; };
    const auto [one, two] = std::ranges::mismatch(first, other, {}, kind, kind);
    if (one != first.end() && two != other.end()) {
      report(fmt::format("{}, while {}", describe_at(*one), describe_at(*two)));
    }
  }

  /// Reports the streams that cannot reach their end.
  void run_through() {
    begun_ = detail::for_streams(schedule_, [](const Stream&) { return std::uint32_t{0}; });
    for (bool has_moved = true; has_moved;) {
      has_moved = false;
      for_each_unfinished([&](std::uint32_t rank, std::uint32_t stream, std::uint32_t& begun) {
        const std::uint32_t before = begun;
        const std::size_t count = schedule_.ranks[rank].streams[stream].operations.size();
        while (begun < count && !blocked_at({rank, stream, begun})) {
          ++begun;
        }
        has_moved = has_moved || begun > before;
      });
    }
    for_each_unfinished([&](std::uint32_t rank, std::uint32_t stream, std::uint32_t begun) {
      report(fmt::format("rank {} waits forever: {}", rank, describe_at(*blocked_at({rank, stream, begun}))));
    });
  }

  template <class Visit>
  void for_each_unfinished(Visit visit) {
    for (std::uint32_t rank = 0; rank < begun_.size(); ++rank) {
      for (std::uint32_t stream = 0; stream < begun_[rank].size(); ++stream) {
        if (begun_[rank][stream] < schedule_.ranks[rank].streams[stream].operations.size()) {
          visit(rank, stream, begun_[rank][stream]);
        }
      }
    }
  }

  /// The operation that the one at `place` still waits for.
  [[nodiscard]] std::optional<Place> blocked_at(const Place& place) const {
    const Operation& operation = at(place);
    for (std::uint32_t i = 0; operation.action == Action::after && i < operation.count; ++i) {
      const StreamPoint point = stream_at(schedule_, place).others[operation.first + i];
      if (const Place other{place.rank, point.stream, point.operation}; !has_begun(other)) {
        return other;
      }
    }
    for (std::uint32_t i = 0; operation.action == Action::wait && i < operation.count; ++i) {
      const Place waited{place.rank, place.stream, stream_at(schedule_, place).waited[operation.first + i]};
      if (!has_ended(waited)) {
        return waited;
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] bool has_begun(const Place& place) const { return begun_[place.rank][place.stream] > place.operation; }

  [[nodiscard]] bool has_ended(const Place& place) const {
    if (at(place).action == Action::receive) {
      return has_begun(sends_[place.rank][place.stream][place.operation]);
    }
    return at(place).action != Action::collective ||
           std::ranges::all_of(collectives_[collective_of_.at(place)], [&](const Place& p) { return has_begun(p); });
  }

  const Schedule& schedule_;
  const std::size_t sentences_max_;
  std::size_t found_ = 0;
  std::vector<std::string> sentences_;
  std::vector<std::vector<std::vector<Place>>> sends_;  ///< Of each receive, by rank, stream and operation.
  std::vector<std::vector<Place>> collectives_;
  std::map<Place, std::size_t> collective_of_;
  std::vector<std::vector<std::uint32_t>> begun_;  ///< Operations, of each rank's streams.
};

}  // namespace

std::vector<std::string> find_trouble(const Schedule& schedule, std::size_t sentences_max) {
  return Check{schedule, sentences_max}.sentences();
}

std::string describe(const Operation& operation, std::uint32_t rank, const Stream& stream, std::size_t index) {
  const auto milliseconds = std::chrono::duration<double, std::milli>{operation.at}.count();
  const std::string place =
      fmt::format("(operation {} of stream {}, {:.3f} ms into the log)", index + 1, stream.name, milliseconds);
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
      return fmt::format("rank {} {} {}",
                         rank,
                         operation.action == Action::wait    ? "waits"
                         : operation.action == Action::after ? "waits for another thread"
                                                             : "computes",
                         place);
  }
}

const char* to_string(Collective collective) noexcept {
  static constexpr std::array names{"none",
                                    "barrier",
                                    "broadcast",
                                    "reduce",
                                    "all-reduce",
                                    "gather",
                                    "scatter",
                                    "all-gather",
                                    "all-to-all",
                                    "reduce-scatter",
                                    "scan"};
  return names[static_cast<std::size_t>(collective)];
}

}  // namespace plait::replay
