// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/computing.hpp"

#include <gtest/gtest.h>

#include "replay/predict/exchanges.hpp"

namespace plait::replay::computing_test {
namespace {

using std::chrono::nanoseconds;
using testing::Exchange;
using testing::simple_platform;

Platform platform_that_takes_nothing() {
  Platform platform = simple_platform();
  platform.between_hosts.eager_bytes_max = 10'000;
  return platform;
}

Platform platform_that_steals() {
  Platform platform = platform_that_takes_nothing();
  platform.between_hosts.processor.stolen_sending = {{.bytes = 2000, .time_ns = 500}, {.bytes = 4000, .time_ns = 500}};
  platform.between_hosts.processor.stolen_receiving = {{.bytes = 2000, .time_ns = 300},
                                                       {.bytes = 4000, .time_ns = 300}};
  return platform;
}

/// Both ranks compute while a message of 2001 bytes moves: from 1300 to 2300 ns.
Exchange overlapped(std::int64_t of_sender, std::int64_t of_receiver) {
  Exchange exchange{2};
  exchange.send(0, 1, 2001);
  exchange.compute(0, of_sender);
  exchange.receive(1, 0, 2001);
  exchange.compute(1, of_receiver);
  exchange.wait_for_all(1);
  return exchange;
}

TEST(Computing, is_left_without_what_messages_took) {
  const Schedule alone = with_computing_alone(overlapped(5500, 5300).schedule, platform_that_steals()).value();
  EXPECT_EQ(alone.ranks[0].streams[0].operations[1].took, nanoseconds{5000});
  EXPECT_EQ(alone.ranks[1].streams[0].operations[1].took, nanoseconds{5000});
}

TEST(Computing, takes_as_long_as_recorded_on_the_machine_of_the_recording) {
  const Schedule recorded = overlapped(5500, 5300).schedule;
  const Platform platform = platform_that_steals();
  const Schedule alone = with_computing_alone(recorded, platform).value();
  const Prediction prediction = predict(alone, platform).value();
  EXPECT_EQ(prediction.ranks[0].end.count(), 300 + 5500);
  EXPECT_EQ(prediction.ranks[1].end.count(), 5300 + 200);
  EXPECT_EQ(predict(alone, platform_that_takes_nothing()).value().ranks[0].end.count(), 300 + 5000);
}

TEST(Computing, is_left_without_it_also_before_a_short_one) {
  Exchange exchange{2};
  exchange.send(0, 1, 2001);
  exchange.compute(1, 5300);
  exchange.compute(1, 1);
  exchange.receive(1, 0, 2001);
  exchange.wait_for_all(1);
  const Schedule alone = with_computing_alone(exchange.schedule, platform_that_steals()).value();
  const auto& operations = alone.ranks[1].streams[0].operations;
  EXPECT_EQ((operations[0].took + operations[1].took), nanoseconds{5001});
}

TEST(Computing, is_never_negative) {
  const Schedule alone = with_computing_alone(overlapped(1, 5300).schedule, platform_that_steals()).value();
  EXPECT_GE(alone.ranks[0].streams[0].operations[1].took, nanoseconds{0});
}

TEST(Computing, is_unchanged_on_a_platform_that_takes_nothing) {
  const Schedule alone = with_computing_alone(overlapped(5500, 5300).schedule, platform_that_takes_nothing()).value();
  EXPECT_EQ(alone.ranks[0].streams[0].operations[1].took, nanoseconds{5500});
}

TEST(Computing, is_left_without_the_time_in_which_other_ranks_had_the_core) {
  Exchange exchange{3};
  exchange.compute(0, 10'000);
  exchange.compute(1, 6000);
  exchange.compute(2, 10'000);  // alone on its host
  Platform platform = simple_platform();
  platform.ranks_per_host = 2;
  platform.core_slice_ns = 1000;
  const Schedule alone = with_computing_alone(exchange.schedule, platform).value();
  EXPECT_EQ(alone.ranks[0].streams[0].operations[0].took, nanoseconds{7000});
  EXPECT_EQ(alone.ranks[1].streams[0].operations[0].took, nanoseconds{3000});
  EXPECT_EQ(alone.ranks[2].streams[0].operations[0].took, nanoseconds{10'000});
}

TEST(Computing, names_an_exchange_that_cannot_finish) {
  Exchange exchange{2};
  exchange.receive(1, 0, 64);
  exchange.wait_for_all(1);
  EXPECT_FALSE(with_computing_alone(exchange.schedule, simple_platform()));
}

}  // namespace
}  // namespace plait::replay::computing_test
