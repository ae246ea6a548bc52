// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/check.hpp"

#include <gtest/gtest.h>

#include "replay/hand_made.hpp"

namespace plait::replay::check_test {
namespace {

using Sentences = std::vector<std::string>;

TEST(FindTrouble, finds_none_in_an_exchange_that_is_whole) {
  EXPECT_EQ(find_trouble(random_exchange(4, 300, 1)), Sentences{});
}

TEST(FindTrouble, names_threads_that_wait_for_each_other) {
  EXPECT_EQ(find_trouble(two_threads()), Sentences{});
  Schedule schedule = two_threads();
  schedule.ranks[0].streams[1].others[0] = {0, 2};
  const Sentences sentences = find_trouble(schedule);
  ASSERT_EQ(sentences.size(), 3U);
  EXPECT_EQ(sentences[1],
            "rank 0 waits forever: rank 0 computes (operation 3 of stream computes, 0.010 ms into the log)");
}

TEST(FindTrouble, names_a_receive_that_nobody_sends) {
  HandMade made{2};
  made.send(0, 1, 7, 100);
  made.receive(1, 0, 7, 100);
  made.receive(1, 0, 8, 4096, 0);
  EXPECT_EQ(
      find_trouble(made.get()),
      (Sentences{
          "rank 1 receives 4096 bytes from rank 0, tag 8, communicator 0 (operation 2 of stream main, 0.001 ms into "
          "the log), and rank 0 never sends it"}));
}

TEST(FindTrouble, names_a_send_that_nobody_receives) {
  HandMade made{2};
  made.send(0, 1, 7, 100);
  EXPECT_EQ(
      find_trouble(made.get()),
      (Sentences{
          "rank 0 sends 100 bytes to rank 1, tag 7, communicator 0 (operation 1 of stream main, 0.000 ms into the "
          "log), and rank 1 never receives it"}));
}

TEST(FindTrouble, names_a_message_that_is_longer_than_its_receive) {
  HandMade made{2};
  made.send(0, 1, 7, 101);
  made.receive(1, 0, 7, 100);
  const Sentences sentences = find_trouble(made.get());
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_NE(sentences[0].find("101 bytes"), std::string::npos);
  EXPECT_NE(sentences[0].find("too short for it"), std::string::npos);
}

TEST(FindTrouble, names_ranks_that_there_are_not) {
  HandMade made{2};
  made.send(0, 2, 7, 101);
  const Sentences sentences = find_trouble(made.get());
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_NE(sentences[0].find("there are 2 ranks only"), std::string::npos);
}

TEST(FindTrouble, names_collectives_that_differ) {
  HandMade made{2};
  made.add(0, {.action = Action::collective, .collective = Collective::barrier});
  made.add(1, {.action = Action::collective, .collective = Collective::all_reduce, .bytes = 8, .bytes_got = 8});
  const Sentences sentences = find_trouble(made.get());
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_NE(sentences[0].find("(barrier)"), std::string::npos);
  EXPECT_NE(sentences[0].find("(all-reduce)"), std::string::npos);
}

TEST(FindTrouble, names_streams_that_wait_for_one_another) {
  HandMade made{2};
  for (const std::uint32_t rank : {0U, 1U}) {
    made.wait(rank, {made.receive(rank, 1 - rank, 1, 10)});
    made.send(rank, 1 - rank, 1, 10);
  }
  const Sentences sentences = find_trouble(made.get());
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_TRUE(sentences[0].starts_with("rank 0 waits forever: rank 0 receives 10 bytes from rank 1")) << sentences[0];
}

TEST(FindTrouble, says_how_many_more_there_are) {
  HandMade made{2};
  for (int i = 0; i < 5; ++i) {
    made.send(0, 1, 7, 100);
  }
  const Sentences sentences = find_trouble(made.get(), 2);
  ASSERT_EQ(sentences.size(), 3U);
  EXPECT_EQ(sentences[2], "and 3 more");
}

}  // namespace
}  // namespace plait::replay::check_test
