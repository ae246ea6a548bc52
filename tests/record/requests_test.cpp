// SPDX-License-Identifier: Apache-2.0
#include "plait/record/requests.hpp"

#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

namespace plait::record {
namespace {

TEST(Requests, gives_a_thread_its_own_of_a_shared_handle_first_then_the_earliest) {
  constexpr std::uint64_t handle = 7;
  Requests requests;
  const int first_lane = 0;
  const int second_lane = 0;
  const int other_lane = 0;
  for (const auto& [number, lane] : {std::pair{1U, &first_lane}, {2U, &second_lane}, {3U, &second_lane}}) {
    requests.add(handle, {.number = number, .lane = lane});
  }
  EXPECT_EQ(requests.complete(handle, &second_lane)->number, 2U);
  EXPECT_EQ(requests.complete(handle, &second_lane)->number, 3U);
  requests.add(handle, {.number = 4, .lane = &second_lane});  // behind what is left, where the last one was taken
  EXPECT_EQ(requests.complete(handle, &other_lane)->number, 1U);
  EXPECT_EQ(requests.complete(handle, &other_lane)->number, 4U);
  EXPECT_FALSE(requests.complete(handle, &first_lane));
}

}  // namespace
}  // namespace plait::record
