// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/gather.hpp"

#include <atomic>
#include <cstddef>

#include <gtest/gtest.h>

#include "plait/testing/run_program.hpp"

namespace plait::gather_test {
namespace {

/// The rank's number, repeated that number of times.
Bytes bytes_of(std::uint32_t rank) {
  return Bytes(rank, static_cast<std::byte>(rank));
}

class Gather : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Gather, all_gather_keeps_calls_apart_that_follow_one_another) {
  plait::test::run_program({.ranks = GetParam()}, {}, [](Runtime& runtime) {
    for (std::uint32_t round = 0; round < 10; ++round) {
      const std::vector<Bytes> all = all_gather(runtime.messages(), bytes_of(runtime.self().value() + round));
      for (std::uint32_t rank = 0; rank < runtime.rank_count(); ++rank) {
        EXPECT_EQ(all[rank], bytes_of(rank + round));
      }
    }
  });
}

TEST_P(Gather, all_gather_values_gives_one_of_each_rank_in_their_order) {
  plait::test::run_program({.ranks = GetParam()}, {}, [](Runtime& runtime) {
    const std::vector<double> all = all_gather_values(runtime.messages(), 0.5 * runtime.self().value());
    ASSERT_EQ(all.size(), runtime.rank_count());
    for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
      EXPECT_EQ(all[rank], 0.5 * rank);
    }
  });
}

TEST_P(Gather, barrier_waits_for_every_rank) {
  std::atomic<std::uint32_t> arrived = 0;
  plait::test::run_program({.ranks = GetParam()}, {}, [&](Runtime& runtime) {
    ++arrived;
    barrier(runtime.messages());
    EXPECT_EQ(arrived, runtime.rank_count());
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Gather, testing::Values(1U, 2U, 5U));

}  // namespace
}  // namespace plait::gather_test
