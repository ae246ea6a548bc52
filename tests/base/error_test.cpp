// SPDX-License-Identifier: Apache-2.0
#include "plait/base/error.hpp"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace plait::error_test {
namespace {

TEST(Error, tells_code_rank_and_sentence) {
  const Error error{ErrorCode::network, "rank 3 is gone", Rank{3}};
  EXPECT_EQ(error.code(), ErrorCode::network);
  EXPECT_EQ(error.rank(), Rank{3});
  EXPECT_STREQ(error.what(), "rank 3 is gone");
  EXPECT_FALSE((Error{ErrorCode::io, "full"}.rank()));
}

TEST(Error, has_a_word_for_every_code) {
  for (const ErrorCode code : {ErrorCode::bad_argument,
                               ErrorCode::bad_input,
                               ErrorCode::io,
                               ErrorCode::truncated,
                               ErrorCode::network,
                               ErrorCode::peer_failed,
                               ErrorCode::timeout,
                               ErrorCode::user_task}) {
    EXPECT_STRNE(to_string(code), "unknown");
  }
}

TEST(Result, holds_a_value) {
  Result<std::string> result{std::string{"value"}};
  ASSERT_TRUE(result);
  EXPECT_EQ(result.value(), "value");
}

TEST(Result, gives_a_value_that_only_moves_away) {
  Result<std::unique_ptr<int>> result{std::make_unique<int>(5)};
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 5);
}

TEST(Result, holds_the_reason_why_there_is_none) {
  Result<int> result{Error{ErrorCode::bad_input, "no number"}};
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::bad_input);
  EXPECT_THROW(static_cast<void>(result.value()), Error);
}

TEST(ExpectDeathTest, ends_the_program_with_the_reason) {
#ifdef PLAIT_CHECKS
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(expect(false, "a rank has a number"), "expectation failed: a rank has a number .*error_test");
#endif
  expect(true, "nothing happens");
}

}  // namespace
}  // namespace plait::error_test
