// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/play_options.hpp"

#include <string>

#include <gtest/gtest.h>

namespace plait::replay::play_options_test {
namespace {

TEST(ThreadsFrom, reads_a_thread_for_each_role) {
  EXPECT_EQ(threads_from("inject,sends,receives").value(),
            (std::vector<Roles>{{true, false, false}, {false, true, false}, {false, false, true}}));
}

TEST(ThreadsFrom, gives_the_first_thread_the_roles_that_are_left_out) {
  EXPECT_EQ(threads_from("inject,receives").value(), (std::vector<Roles>{{true, true, false}, {false, false, true}}));
  EXPECT_EQ(threads_from("one").value(), (std::vector<Roles>{{true, true, true}}));
  EXPECT_TRUE(threads_from("streams").value().empty());
}

TEST(ThreadsFrom, refuses_unknown_roles_and_roles_given_twice) {
  EXPECT_NE(std::string{threads_from("inject,poll").error().what()}.find("no role 'poll'"), std::string::npos);
  EXPECT_NE(std::string{threads_from("sends,sends").error().what()}.find("both have the role sends"),
            std::string::npos);
}

TEST(RateFrom, reads_words_and_factors) {
  EXPECT_EQ(rate_from("max").value(), 0);
  EXPECT_EQ(rate_from("logged").value(), 1);
  EXPECT_EQ(rate_from("2.5").value(), 2.5);
  for (const char* const wrong : {"", "0", "-1", "fast", "2x"}) {
    EXPECT_FALSE(rate_from(wrong)) << wrong;
  }
}

TEST(PlayOptions, know_whether_a_rank_has_several_threads) {
  EXPECT_FALSE(PlayOptions{}.has_several_threads(3));
  EXPECT_FALSE(PlayOptions{.threads = {}}.has_several_threads(1));
  EXPECT_TRUE(PlayOptions{.threads = {}}.has_several_threads(2));
}

}  // namespace
}  // namespace plait::replay::play_options_test
