// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/backend/slots.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <gtest/gtest.h>

#include "replay/hand_made.hpp"

namespace plait::replay::slots_test {
namespace {

/// The requests of one rank, in the order of its log: slots by (communicator, tag), of messages with one peer.
std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<Slot>> slots_of(const RankPart& part,
                                                                              Action direction,
                                                                              std::uint32_t peer,
                                                                              Slots& slots) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<Slot>> found;
  std::uint32_t number = 0;
  for (const Operation& operation : part.schedule.streams.front().operations) {
    if (operation.action == direction && operation.peer == peer) {
      const Slot slot = slots.next(OperationId{number});
      EXPECT_EQ(slot.bytes, operation.bytes);
      found[{operation.communicator, operation.tag}].push_back(slot);
    }
    ++number;
  }
  return found;
}

using Range = std::pair<std::uint64_t, std::uint64_t>;

/// Holds the slots of one pair of ranks, as both sides see them, against each other; where each begins and ends.
std::vector<Range> compare(const RankPart& sender, const RankPart& receiver) {
  Slots sends{sender, Action::send};
  Slots receives{receiver, Action::receive};
  EXPECT_EQ(sends.bytes(receiver.self), receives.bytes(sender.self));
  EXPECT_EQ(sends.fingerprint(receiver.self), receives.fingerprint(sender.self));
  const auto sent = slots_of(sender, Action::send, receiver.self.value(), sends);
  const auto received = slots_of(receiver, Action::receive, sender.self.value(), receives);
  EXPECT_EQ(sent.size(), received.size());
  std::vector<Range> ranges;
  for (const auto& [channel, slots] : sent) {
    const auto& others = received.at(channel);
    EXPECT_EQ(slots.size(), others.size());
    for (std::size_t i = 0; i < std::min(slots.size(), others.size()); ++i) {
      EXPECT_EQ(slots[i].at, others[i].at);
      EXPECT_EQ(slots[i].flag, others[i].flag);
      ranges.emplace_back(slots[i].at, slots[i].at + sizeof(SlotHead) + slots[i].bytes);
    }
  }
  ranges.emplace_back(sends.bytes(receiver.self), sends.bytes(receiver.self));
  return ranges;
}

TEST(Slots, are_the_same_for_sender_and_receiver_and_apart_from_each_other) {
  const std::vector<RankPart> parts = divide(random_exchange(4, 600, 5));
  for (const RankPart& sender : parts) {
    for (const RankPart& receiver : parts) {
      std::vector<Range> ranges = compare(sender, receiver);
      EXPECT_GT(ranges.size(), 10U);
      std::ranges::sort(ranges);
      for (std::size_t i = 1; i < ranges.size(); ++i) {
        EXPECT_EQ(ranges[i].first % alignof(SlotHead), 0U);
        EXPECT_LE(ranges[i - 1].second, ranges[i].first);
      }
    }
  }
}

TEST(Slots, are_used_again_with_another_flag) {
  HandMade made{2};
  const OperationId first{made.send(0, 1, 3, 100)};
  const OperationId second{made.send(0, 1, 3, 200)};
  made.receive(1, 0, 3, 100);
  made.receive(1, 0, 3, 200);
  const std::vector<RankPart> parts = divide(made.get());
  Slots slots{parts[0], Action::send};
  const Slot one = slots.next(first);
  const Slot two = slots.next(second);
  const Slot one_again = slots.next(first);
  EXPECT_NE(one.at, two.at);
  EXPECT_EQ(one.at, one_again.at);
  EXPECT_EQ(one_again.bytes, 100U);
  EXPECT_NE(one.flag, 0U);
  EXPECT_NE(one.flag, one_again.flag);
}

TEST(Slots, of_several_streams_are_in_the_order_of_the_log) {
  Schedule schedule;
  schedule.ranks.resize(2);
  const Operation early{.action = Action::send, .peer = 1, .bytes = 10, .at = nanoseconds{5}};
  const Operation late{.action = Action::send, .peer = 1, .bytes = 20, .at = nanoseconds{9}};
  schedule.ranks[0].streams = {{.name = "a", .operations = {late}}, {.name = "b", .operations = {early}}};
  Operation receive{.action = Action::receive, .peer = 0, .bytes = 10};
  schedule.ranks[1].streams.push_back({.name = "main", .operations = {receive}});
  receive.bytes = 20;
  schedule.ranks[1].streams.front().operations.push_back(receive);
  const std::vector<RankPart> parts = divide(schedule);
  const Slots sends{parts[0], Action::send};
  const Slots receives{parts[1], Action::receive};
  EXPECT_EQ(sends.fingerprint(Rank{1}), receives.fingerprint(Rank{0}));
}

TEST(Slots, tell_by_their_fingerprint_when_two_sides_do_not_agree) {
  const auto fingerprint = [](const std::vector<std::pair<std::uint64_t, std::uint64_t>>& messages) {
    HandMade made{1};
    for (const auto& [tag, bytes] : messages) {
      made.send(0, 0, tag, bytes);
    }
    return Slots{divide(made.get()).front(), Action::send}.fingerprint(Rank{0});
  };
  const std::uint64_t whole = fingerprint({{1, 100}, {1, 200}});
  EXPECT_EQ(whole, fingerprint({{1, 100}, {1, 200}}));
  EXPECT_NE(whole, fingerprint({{1, 200}, {1, 100}}));
  EXPECT_NE(whole, fingerprint({{2, 100}, {2, 200}}));
  EXPECT_NE(whole, fingerprint({{1, 100}, {2, 200}}));
  EXPECT_NE(whole, fingerprint({{1, 100}, {1, 200}, {1, 0}}));
}

}  // namespace
}  // namespace plait::replay::slots_test
