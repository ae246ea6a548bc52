// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/backend/slots.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "replay/hand_made.hpp"

namespace plait::replay {
namespace {

/// What is asked for by one rank, in the order of its log: slots by (communicator, tag), of messages with one peer.
std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<Slot>> slots_of(const Part& part,
                                                                              Action direction,
                                                                              std::uint32_t peer,
                                                                              Slots& slots) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<Slot>> found;
  std::uint32_t number = 0;
  for (const Operation& operation : part.schedule.lanes.front().operations) {
    if (operation.action == direction && operation.peer == peer) {
      const Slot slot = slots.next(OperationId{number});
      EXPECT_EQ(slot.bytes, operation.bytes);
      found[{operation.communicator, operation.tag}].push_back(slot);
    }
    ++number;
  }
  return found;
}

TEST(Slots, are_the_same_for_sender_and_receiver_and_apart_from_each_other) {
  constexpr std::uint32_t ranks = 4;
  const std::vector<Part> parts = divide(random_exchange(ranks, 600, 5));
  for (std::uint32_t from = 0; from < ranks; ++from) {
    Slots sends{parts[from], Action::send};
    for (std::uint32_t to = 0; to < ranks; ++to) {
      Slots receives{parts[to], Action::receive};
      EXPECT_EQ(sends.bytes(Rank{to}), receives.bytes(Rank{from}));
      EXPECT_EQ(sends.fingerprint(Rank{to}), receives.fingerprint(Rank{from}));
      const auto sent = slots_of(parts[from], Action::send, to, sends);
      const auto received = slots_of(parts[to], Action::receive, from, receives);
      ASSERT_EQ(sent.size(), received.size());
      std::vector<std::pair<std::uint64_t, std::uint64_t>> ends;
      for (const auto& [channel, slots] : sent) {
        const auto& others = received.at(channel);
        ASSERT_EQ(slots.size(), others.size());
        for (std::size_t i = 0; i < slots.size(); ++i) {
          EXPECT_EQ(slots[i].at, others[i].at);
          EXPECT_EQ(slots[i].flag, others[i].flag);
          EXPECT_EQ(slots[i].at % alignof(SlotHead), 0U);
          ends.emplace_back(slots[i].at, slots[i].at + sizeof(SlotHead) + slots[i].bytes);
        }
      }
      std::ranges::sort(ends);
      for (std::size_t i = 1; i < ends.size(); ++i) {
        EXPECT_LE(ends[i - 1].second, ends[i].first);
      }
      EXPECT_LE(ends.empty() ? 0 : ends.back().second, sends.bytes(Rank{to}));
    }
  }
}

TEST(Slots, are_used_again_with_another_flag) {
  HandMade made{2};
  const OperationId first{made.send(0, 1, 3, 100)};
  const OperationId second{made.send(0, 1, 3, 200)};
  made.receive(1, 0, 3, 100);
  made.receive(1, 0, 3, 200);
  const std::vector<Part> parts = divide(made.get());
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

TEST(Slots, of_several_lanes_are_in_the_order_of_the_log) {
  Schedule schedule;
  schedule.ranks.resize(2);
  const Operation early{.action = Action::send, .peer = 1, .bytes = 10, .at = nanoseconds{5}};
  const Operation late{.action = Action::send, .peer = 1, .bytes = 20, .at = nanoseconds{9}};
  schedule.ranks[0].lanes = {{.name = "a", .operations = {late}}, {.name = "b", .operations = {early}}};
  Operation receive{.action = Action::receive, .peer = 0, .bytes = 10};
  schedule.ranks[1].lanes.push_back({.name = "main", .operations = {receive}});
  receive.bytes = 20;
  schedule.ranks[1].lanes.front().operations.push_back(receive);
  const std::vector<Part> parts = divide(schedule);
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
}  // namespace plait::replay
