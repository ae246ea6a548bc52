// SPDX-License-Identifier: Apache-2.0
#include "plait/record/requests.hpp"

#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

namespace plait::record::requests_test {
namespace {

TEST(Requests, gives_a_thread_its_own_of_a_shared_handle_first_then_the_earliest) {
  constexpr std::uint64_t handle = 7;
  Requests requests;
  const int first_thread = 0;
  const int second_thread = 0;
  const int other_thread = 0;
  for (const auto& [number, thread] : {std::pair{1U, &first_thread}, {2U, &second_thread}, {3U, &second_thread}}) {
    requests.add(handle, {.call = {.number = number}, .thread = thread});
  }
  EXPECT_EQ(requests.complete(handle, &second_thread)->call.number, 2U);
  EXPECT_EQ(requests.complete(handle, &second_thread)->call.number, 3U);
  requests.add(handle,
               {.call = {.number = 4}, .thread = &second_thread});  // behind what is left, where the last one was taken
  EXPECT_EQ(requests.complete(handle, &other_thread)->call.number, 1U);
  EXPECT_EQ(requests.complete(handle, &other_thread)->call.number, 4U);
  EXPECT_FALSE(requests.complete(handle, &first_thread));
}

}  // namespace
}  // namespace plait::record::requests_test
