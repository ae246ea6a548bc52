// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/copy_helpers.hpp"

#include <optional>

#include <gtest/gtest.h>

#include "comm/loopback_ranks.hpp"

namespace plait::comm::copy_helpers_test {
namespace {

using test::LoopbackRanks;
using test::pattern;

constexpr std::size_t message_bytes = std::size_t{2} << 20U;
const EndpointOptions three_copy{.segment_bytes = message_bytes, .copiers_max = 3};

/// Sends every second 100 bytes of a buffer from a rank to itself; returns whether they have arrived.
bool exchange(Endpoint& rank) {
  Bytes data = pattern(2 * message_bytes, 9);
  Bytes to;
  Request receive = rank.receive({Rank{0}, Tag{1}}, to);
  Request send = rank.send({Rank{0}, Tag{1}}, Layout::strided(data.data(), 128, 256, message_bytes / 128));
  receive.wait();
  send.wait();
  Bytes expected(message_bytes);
  Layout::strided(data.data(), 128, 256, message_bytes / 128).gather(0, expected);
  return to == expected;
}

TEST(CopyHelpers, are_woken_for_large_copies_as_long_as_they_exist) {
  LoopbackRanks ranks{1, three_copy};
  std::uint32_t woken = 0;
  {
    const CopyHelpers helpers{ranks[0], [&](std::uint32_t count) { woken += count; }};
    EXPECT_TRUE(exchange(ranks[0]));
    EXPECT_EQ(woken, 2U) << "three may copy";
  }
  EXPECT_TRUE(exchange(ranks[0]));
  EXPECT_EQ(woken, 2U);
}

TEST(CopyHelpers, are_not_woken_when_one_thread_is_to_copy) {
  LoopbackRanks ranks{1, three_copy};
  std::uint32_t woken = 0;
  const CopyHelpers helpers{ranks[0], [&](std::uint32_t count) { woken += count; }};
  CopyHelpers::set_copiers_max(ranks[0], 1);
  EXPECT_TRUE(exchange(ranks[0]));
  EXPECT_EQ(woken, 0U);
  EXPECT_EQ(ranks[0].activity().copied_pieces(), 0U);
}

}  // namespace
}  // namespace plait::comm::copy_helpers_test
