// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/unmeasured.hpp"

#include <gtest/gtest.h>

#include "replay/predict/exchanges.hpp"

namespace plait::replay::unmeasured_test {
namespace {

Schedule one_message(std::uint64_t bytes) {
  testing::Exchange exchange{2};
  exchange.send(0, 1, bytes);
  exchange.receive(1, 0, bytes);
  return exchange.schedule;
}

TEST(Unmeasured, are_messages_longer_than_the_longest_of_the_calibration) {
  Platform platform = testing::simple_platform();
  EXPECT_TRUE(unmeasured(one_message(1 << 30), platform).empty());  // a line is for all sizes
  platform.between_hosts.moving = {{1024, 200}, {65536, 9000}};
  EXPECT_TRUE(unmeasured(one_message(65536), platform).empty());
  const auto sentences = unmeasured(one_message(65537), platform);
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_NE(sentences[0].find("1 messages between hosts have up to 65537 bytes"), std::string::npos) << sentences[0];
}

TEST(Unmeasured, are_messages_within_a_host_of_a_platform_that_has_no_costs_of_them) {
  Platform platform = testing::simple_platform();
  EXPECT_TRUE(unmeasured(one_message(8), platform).empty());
  platform.ranks_per_host = 2;
  const auto sentences = unmeasured(one_message(8), platform);
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_NE(sentences[0].find("no \"within_host\": 1 messages"), std::string::npos) << sentences[0];
  platform.has_within_host = true;
  EXPECT_TRUE(unmeasured(one_message(8), platform).empty());
}

TEST(Unmeasured, is_what_ranks_share_that_compute_more_slowly_at_once) {
  Platform platform = testing::simple_platform();
  platform.has_within_host = true;
  platform.slowdown_at_once = 1.4;
  EXPECT_TRUE(unmeasured(one_message(8), platform).empty()) << "one rank a host";
  platform.ranks_per_host = 2;
  const auto sentences = unmeasured(one_message(8), platform);
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_NE(sentences[0].find("1.40 times as long"), std::string::npos) << sentences[0];
  platform.core_slice_ns = 1e6;
  EXPECT_TRUE(unmeasured(one_message(8), platform).empty()) << "they share cores, which is modelled";
}

}  // namespace
}  // namespace plait::replay::unmeasured_test
