// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/staging.hpp"

#include <gtest/gtest.h>

namespace plait::comm::detail::staging_test {
namespace {

TEST(Staging, gives_memory_that_was_returned_again) {
  Staging staging{1000, 1000};
  Bytes first = staging.take(300);
  const std::byte* const place = first.data();
  staging.put(std::move(first));
  EXPECT_EQ(staging.kept_bytes(), 300U);
  EXPECT_EQ(staging.take(200).data(), place) << "a smaller buffer fits";
  EXPECT_EQ(staging.kept_bytes(), 0U);
  EXPECT_EQ(staging.in_use_bytes(), 300U);
}

TEST(Staging, has_room_up_to_its_bound_and_for_one_buffer_of_any_size) {
  Staging staging{1000, 1000};
  EXPECT_TRUE(staging.has_room(5000));
  Bytes first = staging.take(600);
  EXPECT_TRUE(staging.has_room(400));
  EXPECT_FALSE(staging.has_room(401));
  staging.put(std::move(first));
  EXPECT_TRUE(staging.has_room(5000));
}

TEST(Staging, frees_what_it_has_kept_longest) {
  Staging staging{10'000, 1000};
  Bytes large = staging.take(900);
  Bytes small = staging.take(200);
  staging.put(std::move(large));
  staging.put(std::move(small));
  EXPECT_EQ(staging.kept_bytes(), 200U);
  Bytes huge = staging.take(5000);
  staging.put(std::move(huge));
  EXPECT_EQ(staging.kept_bytes(), 5000U) << "one is kept whatever its size";
}

TEST(Staging, keeps_as_much_as_two_messages_have_in_flight) {
  Staging staging = staging_of({.segment_bytes = 100, .segments_in_flight = 2, .copy_memory_bytes_max = 1000});
  std::vector<Bytes> buffers;
  for (int segment = 0; segment < 10; ++segment) {
    EXPECT_TRUE(staging.has_room(100));
    buffers.push_back(staging.take(100));
  }
  EXPECT_FALSE(staging.has_room(1));
  for (Bytes& buffer : buffers) {
    staging.put(std::move(buffer));
  }
  EXPECT_EQ(staging.kept_bytes(), 400U);
}

}  // namespace
}  // namespace plait::comm::detail::staging_test
