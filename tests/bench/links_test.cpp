// SPDX-License-Identifier: Apache-2.0
#include "support/links.hpp"

#include <gtest/gtest.h>

namespace bench::links_test {
namespace {

constexpr const char* net_dev =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier "
    "compressed\n"
    "    lo: 9000      10    0    0    0     0          0         0     9000      10    0    0    0     0       0      "
    "    0\n"
    "  lab0:  700       7    0    0    0     0          0         0     1500       9    0    0    0     0       0      "
    "    0\n"
    "  eth1:12345      70    0    0    0     0          0         0       20       1    0    0    0     0       0      "
    "    0\n";

TEST(Links, count_what_all_interfaces_but_the_loopback_have_sent) {
  EXPECT_EQ(sent_bytes(net_dev), (std::map<std::string, std::uint64_t>{{"eth1", 20}, {"lab0", 1500}}));
  EXPECT_TRUE(sent_bytes("").empty());
  EXPECT_TRUE(sent_bytes("  lab0: 700 7\n").empty()) << "too few columns";
}

TEST(Links, notice_data_that_took_another_way) {
  EXPECT_TRUE((Crossing{.expected = 1e6, .crossed = 1.05e6}.is_whole())) << "with headers";
  EXPECT_TRUE((Crossing{}.is_whole())) << "outside a lab nothing is expected";
  const Crossing beside{.expected = 24e6, .crossed = 0.0272e6};
  EXPECT_FALSE(beside.is_whole());
  EXPECT_EQ(beside.sentence(), "0.0272 of 24 MB crossed the links");
  EXPECT_EQ(beside.why_left_out("CoM", 4096),
            "CoM is left out at 4096 bytes: 0.0272 of 24 MB crossed the links, the rest took another way");
}

TEST(Links, notice_a_link_that_was_not_used) {
  EXPECT_TRUE((Crossing{.crossed = 100, .by_link = {52, 48}}.used_all_links()));
  EXPECT_FALSE((Crossing{.crossed = 100, .by_link = {90, 10}}.used_all_links()));
  EXPECT_TRUE(Crossing{}.used_all_links()) << "outside a lab there are none";
  EXPECT_EQ((Crossing{.crossed = 200, .by_link = {104, 96}}.shares()), "52 + 48 %");
  EXPECT_EQ(Crossing{}.shares(), "");
}

}  // namespace
}  // namespace bench::links_test
