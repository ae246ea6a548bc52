// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/match_by_order.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace plait::trace {
namespace {

/// One side of a message, until its number is known.
struct Side {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t communicator = 0;
  Tag tag;
  std::uint32_t number = 0;  ///< Of its posting.
  MessageEvent* event = nullptr;

  [[nodiscard]] auto pair() const { return std::tuple{source, destination, communicator}; }
  [[nodiscard]] auto kind() const { return std::tuple{source, destination, communicator, tag.value()}; }
  [[nodiscard]] auto place_in_pair() const { return std::tuple_cat(pair(), std::tuple{number}); }
  [[nodiscard]] auto place_in_kind() const { return std::tuple_cat(kind(), std::tuple{number}); }
};

std::vector<Side> sides(std::vector<RankTrace>& ranks, MessageDirection direction) {
  std::vector<Side> found;
  for (RankTrace& rank : ranks) {
    for (Recorded<MessageEvent>& recorded : rank.messages) {
      MessageEvent& event = recorded.event;
      if (event.is_matched_by_order && event.direction == direction) {
        const bool is_sent = direction == MessageDirection::sent;
        found.push_back({(is_sent ? rank.rank : event.peer).value(),
                         (is_sent ? event.peer : rank.rank).value(),
                         event.communicator,
                         event.tag,
                         event.sequence,
                         &event});
      }
    }
  }
  return found;
}

}  // namespace

void match_by_order(std::vector<RankTrace>& ranks) {
  std::vector<Side> sent = sides(ranks, MessageDirection::sent);
  std::ranges::sort(sent, {}, &Side::place_in_pair);
  for (std::size_t i = 0, first = 0; i < sent.size(); ++i) {
    first = sent[i].pair() == sent[first].pair() ? first : i;
    sent[i].event->sequence = static_cast<std::uint32_t>(i - first);
  }
  std::ranges::sort(sent, {}, &Side::place_in_kind);
  std::vector<Side> received = sides(ranks, MessageDirection::received);
  std::ranges::sort(received, {}, &Side::place_in_kind);
  std::uint32_t by_nobody = sent_by_nobody;
  std::size_t next = 0;
  for (const Side& side : received) {
    while (next < sent.size() && sent[next].kind() < side.kind()) {
      ++next;
    }
    const bool is_sent = next < sent.size() && sent[next].kind() == side.kind();
    side.event->sequence = is_sent ? sent[next++].event->sequence : by_nobody++;
  }
}

}  // namespace plait::trace
