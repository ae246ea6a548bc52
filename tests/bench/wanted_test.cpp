// SPDX-License-Identifier: Apache-2.0
#include "support/wanted.hpp"

#include <gtest/gtest.h>

namespace bench::wanted_test {
namespace {

TEST(Wanted, is_reached_at_its_limit) {
  EXPECT_TRUE(at_most(0.3).is_reached_by(0.3));
  EXPECT_FALSE(at_most(0.3).is_reached_by(0.31));
  EXPECT_TRUE(at_least(1.8).is_reached_by(1.8));
  EXPECT_FALSE(at_least(1.8).is_reached_by(1.79));
  EXPECT_EQ(at_most(0.3).in_words(), "<= 0.3");
  EXPECT_EQ(at_least(1.8).in_words(), ">= 1.8");
}

TEST(Wanted, of_a_peer_becomes_a_value_of_the_run) {
  const Wanted wanted = resolved(at_most_of_peer(1.2), "raw MPI", 0.5).value();
  EXPECT_FALSE(wanted.is_of_peer);
  EXPECT_DOUBLE_EQ(wanted.value, 0.6);
  EXPECT_EQ(wanted.basis, "1.2 x raw MPI");
  EXPECT_TRUE(wanted.is_reached_by(0.55));
  EXPECT_FALSE(resolved(at_least_of_peer(1.2), "raw MPI", 0.5)->is_reached_by(0.55));
  EXPECT_EQ(resolved(at_least_of_peer(1), "1 thread", 2.0)->basis, "1 thread");
}

TEST(Wanted, of_a_peer_is_nothing_without_one) {
  EXPECT_FALSE(resolved(at_most_of_peer(1.2), "", {}));
  EXPECT_TRUE(resolved(at_most(1), "", {}));
}

TEST(Wanted, is_the_stricter_of_two) {
  EXPECT_EQ(stricter(at_most(0.1), at_most(0.2, "a thread")).value, 0.1);
  EXPECT_EQ(stricter(at_most(0.1), at_most(0.05, "a thread")).basis, "a thread");
  EXPECT_EQ(stricter(at_least(0.1), at_least(0.2)).value, 0.2);
}

}  // namespace
}  // namespace bench::wanted_test
