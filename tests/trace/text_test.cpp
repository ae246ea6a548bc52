// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/detail/text.hpp"

#include <gtest/gtest.h>

namespace plait::trace::detail::text_test {
namespace {

TEST(Text, tells_utf8_from_other_bytes) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("drift"));
  EXPECT_TRUE(
      is_utf8("Kr\xC3\xA4"
              "fte \xE2\x88\x87 \xF0\x9F\x9C\x9A"));
  EXPECT_FALSE(is_utf8("\xE4"));              // Latin-1
  EXPECT_FALSE(is_utf8("\xC3"));              // cut
  EXPECT_FALSE(is_utf8("\xC0\xAF"));          // overlong
  EXPECT_FALSE(is_utf8("\xE0\x80\x80"));      // overlong
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));      // surrogate
  EXPECT_FALSE(is_utf8("\xF4\x90\x80\x80"));  // beyond Unicode
  EXPECT_FALSE(is_utf8("a\x80z"));
}

TEST(Text, is_cut_at_a_character) {
  EXPECT_EQ(storable_text("drift", 5), "drift");
  EXPECT_EQ(storable_text("drift", 4), "drif");
  EXPECT_EQ(storable_text("a\xC3\xA4"
                          "b",
                          2),
            "a");
  EXPECT_EQ(storable_text("\xF0\x9F\x9C\x9A", 3), "");
}

TEST(Text, that_is_not_utf8_is_made_so) {
  EXPECT_EQ(storable_text("Kr\xE4"
                          "fte",
                          56),
            "Kr?fte");
}

}  // namespace
}  // namespace plait::trace::detail::text_test
