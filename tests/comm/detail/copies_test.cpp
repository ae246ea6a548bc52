// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/copies.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

#include "comm/loopback_ranks.hpp"

namespace plait::comm::detail::copies_test {
namespace {

using test::pattern;

constexpr std::size_t blocks = 5000;

/// A message of two bytes in every three, and its packed form.
struct Message {
  explicit Message(unsigned seed) : scattered{pattern(3 * blocks, seed)}, packed(2 * blocks) {
    memory.layout = std::make_unique<const Layout>(Layout::strided(scattered.data(), 2, 3, blocks));
  }

  [[nodiscard]] SegmentCopy segment(CopyDirection direction, std::uint64_t cookie) {
    return {.direction = direction, .memory = &memory, .packed = packed, .cookie = cookie};
  }
  [[nodiscard]] bool is_packed() const {
    for (std::size_t block = 0; block < blocks; ++block) {
      if (packed[2 * block] != scattered[3 * block] || packed[2 * block + 1] != scattered[3 * block + 1]) {
        return false;
      }
    }
    return true;
  }

  Bytes scattered;
  Bytes packed;
  MessageMemory memory;
};

const EndpointOptions small_pieces{.copiers_max = 2, .copy_piece_bytes = 700};
constexpr std::size_t pieces = (2 * blocks + 699) / 700;

TEST(Copies, copy_at_once_what_is_small_or_what_one_thread_copies) {
  Activity activity;
  Message message{1};
  for (const EndpointOptions& options : {EndpointOptions{.copiers_max = 1, .copy_piece_bytes = 10},
                                         EndpointOptions{.copiers_max = 2, .copy_piece_bytes = 2 * blocks}}) {
    Copies copies{options, activity};
    EXPECT_TRUE(copies.copy(message.segment(CopyDirection::pack, 7)));
    EXPECT_TRUE(message.is_packed());
    EXPECT_FALSE(copies.has_pieces());
    EXPECT_TRUE(copies.take_ended().empty());
    std::ranges::fill(message.packed, std::byte{0});
  }
  EXPECT_EQ(activity.copied_pieces(), 0U);
}

TEST(Copies, end_when_the_thread_that_queued_them_has_copied_all_pieces) {
  Activity activity;
  Copies copies{small_pieces, activity};
  Message message{2};
  EXPECT_FALSE(copies.copy(message.segment(CopyDirection::pack, 7)));
  EXPECT_TRUE(activity.is_moving_bulk());
  EXPECT_FALSE(copies.has_ended());
  EXPECT_EQ(copies.help(), pieces);
  EXPECT_TRUE(copies.has_ended());
  const std::vector<Copies::Ended> ended = copies.take_ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].cookie, 7U);
  EXPECT_EQ(ended[0].direction, CopyDirection::pack);
  EXPECT_FALSE(copies.has_ended());
  EXPECT_FALSE(activity.is_moving_bulk());
  EXPECT_TRUE(message.is_packed());
  EXPECT_EQ(activity.copied_pieces(), pieces);
  EXPECT_EQ(activity.helped_pieces(), 0U);
}

TEST(Copies, count_what_other_threads_copy) {
  Activity activity;
  Copies copies{small_pieces, activity};
  Message message{3};
  const Bytes before = message.scattered;
  (void)copies.copy(message.segment(CopyDirection::pack, 1));
  std::jthread{[&] { EXPECT_EQ(copies.help(), pieces); }}.join();
  EXPECT_EQ(activity.helped_pieces(), pieces);
  EXPECT_TRUE(message.is_packed());
  std::ranges::fill(message.scattered, std::byte{0});
  (void)copies.copy(message.segment(CopyDirection::unpack, 2));
  EXPECT_EQ(copies.help(), pieces);
  EXPECT_TRUE(message.is_packed()) << "unpacked again";
  EXPECT_EQ(activity.helped_pieces(), pieces);
  EXPECT_EQ(copies.take_ended().size(), 2U);
  EXPECT_EQ(message.scattered[2], std::byte{0}) << "what is between the blocks is left alone";
  EXPECT_EQ(message.scattered[3], before[3]);
}

TEST(Copies, have_a_thread_return_at_each_end_and_then_find_the_next) {
  Activity activity;
  Copies copies{small_pieces, activity};
  Message first{4};
  Message second{5};
  (void)copies.copy(first.segment(CopyDirection::pack, 1));
  (void)copies.copy(second.segment(CopyDirection::pack, 2));
  EXPECT_EQ(copies.help(), pieces);
  EXPECT_EQ(copies.take_ended().size(), 1U);
  EXPECT_TRUE(activity.is_moving_bulk());
  EXPECT_TRUE(copies.has_pieces());
  EXPECT_EQ(copies.help(), pieces);
  EXPECT_EQ(copies.take_ended().size(), 1U);
  EXPECT_EQ(copies.help(), 0U);
}

TEST(Copies, wake_helpers_for_what_takes_longer_than_waking) {
  Activity activity;
  Copies copies{{.copiers_max = 3}, activity};
  Bytes from = pattern(std::size_t{2} << 20U, 6);
  Bytes packed(from.size());
  MessageMemory memory{.memory = from};
  const SegmentCopy large{.memory = &memory, .packed = packed};
  SegmentCopy small = large;
  small.packed = std::span{packed}.first(200 << 10U);
  (void)copies.copy(small);
  EXPECT_EQ(copies.take_helpers_wanted(), 0U);
  (void)copies.copy(large);
  EXPECT_EQ(copies.take_helpers_wanted(), 2U);
  EXPECT_EQ(copies.take_helpers_wanted(), 0U) << "once";
  while (copies.help() > 0) {
  }
  EXPECT_EQ(packed, from);
}

TEST(Copies, use_the_automatic_number_where_none_is_set) {
  Activity activity;
  for (const auto& [options, helpers] : {std::pair{EndpointOptions{}, copiers_by_default - 1},
                                         std::pair{EndpointOptions{.copiers_automatic = 4}, 3U},
                                         std::pair{EndpointOptions{.copiers_max = 3, .copiers_automatic = 4}, 2U}}) {
    Copies copies{options, activity};
    Bytes from = pattern(std::size_t{2} << 20U, 6);
    Bytes packed(from.size());
    MessageMemory memory{.memory = from};
    (void)copies.copy({.memory = &memory, .packed = packed});
    EXPECT_EQ(copies.take_helpers_wanted(), helpers);
    while (copies.help() > 0) {
    }
  }
}

TEST(Copies, of_many_messages_are_whole_with_many_threads) {
  constexpr unsigned message_count = 200;
  Activity activity;
  Copies copies{{.copiers_max = 3, .copy_piece_bytes = 300}, activity};
  std::vector<Message> messages;
  for (unsigned number = 0; number < message_count; ++number) {
    messages.emplace_back(number);
  }
  std::mutex endpoint_lock;
  unsigned queued = 0;
  std::array<unsigned, message_count> ends{};
  unsigned ended_count = 0;
  const auto work = [&] {
    for (bool is_over = false; !is_over;) {
      {
        const std::lock_guard lock{endpoint_lock};
        if (queued < message_count) {
          (void)copies.copy(messages[queued].segment(CopyDirection::pack, queued));
          ++queued;
        }
        for (const Copies::Ended& ended : copies.take_ended()) {
          ++ends[ended.cookie];
          ++ended_count;
        }
        is_over = ended_count == message_count;
      }
      copies.help();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back(work);
    }
  }
  EXPECT_TRUE(std::ranges::all_of(ends, [](unsigned count) { return count == 1; }));
  EXPECT_TRUE(std::ranges::all_of(messages, &Message::is_packed));
  EXPECT_FALSE(activity.is_moving_bulk());
}

TEST(Copies, need_pieces_of_at_least_a_byte) {
  Activity activity;
  EXPECT_THROW((Copies{{.copy_piece_bytes = 0}, activity}), Error);
}

}  // namespace
}  // namespace plait::comm::detail::copies_test
