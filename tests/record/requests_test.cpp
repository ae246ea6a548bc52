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
  EXPECT_EQ(requests.take(handle, &second_thread, Requests::Persistent::stays)->call.number, 2U);
  EXPECT_EQ(requests.take(handle, &second_thread, Requests::Persistent::stays)->call.number, 3U);
  requests.add(handle,
               {.call = {.number = 4}, .thread = &second_thread});  // behind what is left, where the last one was taken
  EXPECT_EQ(requests.take(handle, &other_thread, Requests::Persistent::stays)->call.number, 1U);
  EXPECT_EQ(requests.take(handle, &other_thread, Requests::Persistent::stays)->call.number, 4U);
  EXPECT_FALSE(requests.take(handle, &first_thread, Requests::Persistent::stays));
}

}  // namespace
}  // namespace plait::record::requests_test
