// SPDX-License-Identifier: Apache-2.0
#include "plait/exports/message_sides.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace plait::exports {
namespace {

/// From here on communicators are the runtime's own.
constexpr std::uint32_t own_communicators = 0xffff'fff0;

/// Spreads the bits; Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
constexpr std::uint64_t mixed(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30U)) * 0xbf58'476d'1ce4'e5b9ULL;
  value = (value ^ (value >> 27U)) * 0x94d0'49bb'1331'11ebULL;
  return value ^ (value >> 31U);
}

std::uint64_t hash(const std::array<std::uint64_t, 3>& words) noexcept {
  std::uint64_t result = 0x9e37'79b9'7f4a'7c15ULL;
  for (const std::uint64_t word : words) {
    result = mixed(result + word + 0x9e37'79b9'7f4a'7c15ULL);
  }
  return result;
}

nanoseconds known(nanoseconds time, nanoseconds otherwise) noexcept {
  return time != nanoseconds{} ? time : otherwise;
}

std::uint64_t flow_of(const trace::MessageEvent& event, Rank rank, std::uint64_t place, std::uint64_t tag) noexcept {
  const bool is_sent = event.direction == trace::MessageDirection::sent;
  const Rank source = is_sent ? rank : event.peer;
  const Rank destination = is_sent ? event.peer : rank;
  const std::uint64_t pair = std::uint64_t{source.value()} << 32U | destination.value();
  return hash({pair, std::uint64_t{event.communicator} << 32U | place, tag});
}

void match_by_order(std::vector<MessageSide>& sides, Rank rank) {
  std::vector<MessageSide*> ordered;
  for (MessageSide& side : sides) {
    if (side.event->is_matched_by_order) {
      ordered.push_back(&side);
    }
  }
  const auto kind = [](const MessageSide* side) {
    const trace::MessageEvent& event = *side->event;
    return std::tuple{event.direction, event.peer, event.communicator, event.tag};
  };
  std::ranges::sort(ordered, {}, [&](const MessageSide* side) {
    return std::tuple_cat(kind(side), std::tuple{side->event->sequence});
  });
  for (std::size_t i = 0, first = 0; i < ordered.size(); ++i) {
    first = kind(ordered[i]) == kind(ordered[first]) ? first : i;
    const trace::MessageEvent& event = *ordered[i]->event;
    ordered[i]->flow = flow_of(event, rank, i - first, event.tag.value());
  }
}

}  // namespace

std::vector<MessageSide> message_sides(const RankOfRun& rank) {
  std::vector<MessageSide> sides;
  sides.reserve(rank.trace.messages.size());
  for (const auto& [thread, event] : rank.trace.messages) {
    if (event.communicator >= own_communicators) {
      continue;
    }
    MessageSide side{.event = &event, .worker = rank.trace.threads[thread].worker};
    const nanoseconds posted = known(event.posted, event.handed);
    const nanoseconds handed = known(event.handed, posted);
    side.posted = rank.clock(posted);
    side.completed = std::max(side.posted, rank.clock(known(event.completed, std::max(handed, event.arrived))));
    side.flow = flow_of(event, rank.trace.rank, event.sequence, ~std::uint64_t{0});
    sides.push_back(side);
  }
  match_by_order(sides, rank.trace.rank);
  return sides;
}

}  // namespace plait::exports
