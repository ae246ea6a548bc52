// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/matched_messages.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "plait/replay/detail/places.hpp"

namespace plait::replay::detail {
namespace {

using trace::MessageDirection;
using trace::MessageEvent;

constexpr std::uint32_t first_own_communicator = 0xffff'fff0;
constexpr std::size_t named_max = 20;

struct Side {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t communicator = 0;
  std::uint32_t sequence = 0;
  std::uint32_t rank = 0;
  std::size_t index = 0;
  bool is_of_call = false;  ///< Calls and an engine number their communicators apart.

  [[nodiscard]] auto key() const { return std::tuple{is_of_call, source, destination, communicator, sequence}; }
};

std::vector<Side> sides(const trace::RunTrace& run, MessageDirection direction) {
  std::vector<Side> found;
  for (std::uint32_t rank = 0; rank < run.ranks.size(); ++rank) {
    const auto& messages = run.ranks[rank].messages;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const MessageEvent& event = messages[i].event;
      if (event.direction == direction && event.communicator < first_own_communicator) {
        const bool is_sent = direction == MessageDirection::sent;
        const std::uint32_t peer = event.peer.value();
        found.push_back({is_sent ? rank : peer,
                         is_sent ? peer : rank,
                         event.communicator,
                         event.sequence,
                         rank,
                         i,
                         event.is_matched_by_order});
      }
    }
  }
  std::ranges::sort(found, {}, &Side::key);
  return found;
}

/// The call that posted the message, for a notice; empty if unknown.
std::string place_of(const trace::RankTrace& trace, const trace::Recorded<MessageEvent>& message) {
  for (const auto& recorded : trace.calls) {
    const trace::CallEvent& call = recorded.event;
    const bool begins = call.what == trace::CallClass::begins_message || call.what == trace::CallClass::message;
    if (begins && recorded.thread == message.thread && call.start <= message.event.posted &&
        message.event.posted <= call.end) {
      const std::string function = trace.name(trace::Role::function, call.function);
      return call.site ? fmt::format(", {} called at {}", function, trace.name(trace::Role::call_site, call.site))
                       : fmt::format(", {}", function);
    }
  }
  return {};
}

/// Messages with one kind of error, of which the first few are named.
struct Troubles {
  const trace::RunTrace& run;
  std::vector<std::string>& notices;
  std::size_t count = 0;

  void report(const Side& side, std::string_view trouble) {
    if (++count > named_max) {
      return;
    }
    const trace::RankTrace& trace = run.ranks[side.rank];
    const auto& message = trace.messages[side.index];
    const nanoseconds at = run.clock_line(Rank{side.rank}).to_rank_zero(message.event.posted);
    notices.push_back(fmt::format(
        "the {} from rank {} to rank {} with tag {} on communicator {} ({} bytes, posted at {:.6f} s{}) {}; "
        "left out on both sides",
        message.event.direction == MessageDirection::sent ? "send" : "receive",
        side.source,
        side.destination,
        message.event.tag.value(),
        side.communicator,
        message.event.bytes,
        std::chrono::duration<double>{at}.count(),
        place_of(trace, message),
        trouble));
  }

  void finish(std::string_view what) {
    if (count > named_max) {
      notices.push_back(fmt::format("{} more {}", count - named_max, what));
    }
  }
};

}  // namespace

MatchedMessages match_messages(const trace::RunTrace& run,
                               const std::function<bool(std::uint32_t, std::size_t)>& is_wanted) {
  MatchedMessages matched;
  for (const trace::RankTrace& rank : run.ranks) {
    matched.bytes.emplace_back(rank.messages.size());
  }
  Troubles without_receive{run, matched.notices};
  Troubles without_send{run, matched.notices};
  Troubles unfinished{run, matched.notices};
  match_ends(sides(run, MessageDirection::sent),
             sides(run, MessageDirection::received),
             [&](const Side* send, const Side* receive) {
               if (send == nullptr) {
                 without_send.report(*receive, "has no send");
               } else if (!is_wanted(send->rank, send->index)) {
                 return;
               } else if (receive == nullptr) {
                 without_receive.report(*send, "has no receive");
               } else if (run.ranks[receive->rank].messages[receive->index].event.is_unfinished) {
                 unfinished.report(*receive, "had not completed when the record ended");
               } else {
                 const std::uint64_t bytes = run.ranks[send->rank].messages[send->index].event.bytes;
                 matched.bytes[send->rank][send->index] = bytes;
                 matched.bytes[receive->rank][receive->index] = bytes;
               }
             });
  without_receive.finish("sends without a receive were left out");
  without_send.finish("receives without a send were left out");
  unfinished.finish("messages that had not completed were left out");
  return matched;
}

Operation operation_of(const MessageEvent& event, std::uint64_t bytes, std::uint32_t step, nanoseconds at) {
  return {.action = event.direction == MessageDirection::sent ? Action::send : Action::receive,
          .step = step,
          .communicator = event.communicator,
          .peer = event.peer.value(),
          .tag = event.tag.value(),
          .bytes = bytes,
          .at = at,
          .took = std::max(event.completed - event.posted, nanoseconds{})};
}

}  // namespace plait::replay::detail
