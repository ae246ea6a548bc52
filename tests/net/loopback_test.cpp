// SPDX-License-Identifier: Apache-2.0
// What loopback promises beyond every driver: lifetimes, and bulk data in either order.
#include "plait/net/loopback/loopback.hpp"

#include <array>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::net::loopback_test {
namespace {

constexpr Rank first{0};
constexpr Rank second{1};

Post send(Driver& driver, Rank to) {
  Packet packet = driver.acquire();
  packet.resize(1);
  return driver.send(to, std::move(packet));
}

std::size_t bulk_polled(Driver& driver) {
  std::array<BulkDone, 8> bulk;
  return driver.poll({}, bulk).bulk;
}

TEST(Loopback, moves_packets_by_ownership) {
  LoopbackNetwork network{2};
  const auto sender = network.driver(first);
  const auto receiver = network.driver(second);
  Packet packet = sender->acquire();
  packet.resize(1);
  const std::byte* place = packet.data();
  EXPECT_EQ(sender->send(second, std::move(packet)), Post::done);
  std::array<Arrival, 1> arrivals;
  EXPECT_EQ(receiver->poll(arrivals, {}).arrivals, 1U);
  EXPECT_EQ(arrivals[0].packet.data(), place);
}

TEST(Loopback, takes_bulk_sends_before_their_receives) {
  LoopbackNetwork network{2};
  const auto sender = network.driver(first);
  const auto receiver = network.driver(second);
  const std::vector<std::byte> data(1000, std::byte{7});
  std::vector<std::byte> buffer(1000);
  EXPECT_EQ(sender->send_bulk({second, BulkSlot{0}, data, 1}), Post::posted);
  EXPECT_EQ(sender->send_bulk({second, BulkSlot{0}, data, 2}), Post::retry) << "one at a time";
  EXPECT_FALSE(sender->is_idle());
  EXPECT_EQ(receiver->receive_bulk({first, BulkSlot{0}, buffer, 3}), Post::posted);
  EXPECT_EQ(buffer, data);
  EXPECT_EQ(bulk_polled(*sender), 1U);
  EXPECT_EQ(bulk_polled(*receiver), 1U);
  EXPECT_TRUE(sender->is_idle());
}

TEST(Loopback, may_end_before_its_drivers) {
  std::optional<LoopbackNetwork> network{std::in_place, 2U};
  const auto sender = network->driver(first);
  const auto receiver = network->driver(second);
  network.reset();
  EXPECT_EQ(send(*sender, second), Post::done);
  std::array<Arrival, 1> arrivals;
  EXPECT_EQ(receiver->poll(arrivals, {}).arrivals, 1U);
}

TEST(Loopback, lets_packets_to_an_ended_rank_vanish) {
  LoopbackNetwork network{2};
  const auto sender = network.driver(first);
  network.driver(second).reset();
  EXPECT_EQ(send(*sender, second), Post::done);
}

TEST(Loopback, touches_no_buffer_of_an_ended_rank) {
  LoopbackNetwork network{2};
  const auto sender = network.driver(first);
  auto receiver = network.driver(second);
  const std::vector<std::byte> data(100);
  auto buffer = std::make_unique<std::array<std::byte, 100>>();
  EXPECT_EQ(receiver->receive_bulk({first, BulkSlot{0}, *buffer, 1}), Post::posted);
  receiver.reset();
  buffer.reset();
  EXPECT_EQ(sender->send_bulk({second, BulkSlot{0}, data, 1}), Post::posted);
  EXPECT_EQ(bulk_polled(*sender), 0U);
}

TEST(Loopback, ends_while_others_send_bulk_data) {
  constexpr std::size_t bytes = 1'000'000;
  LoopbackNetwork network{2};
  const auto sender = network.driver(first);
  const std::vector<std::byte> data(bytes);
  auto receiver = network.driver(second);
  auto buffer = std::make_unique<std::vector<std::byte>>(bytes);
  EXPECT_EQ(receiver->receive_bulk({first, BulkSlot{0}, *buffer, 1}), Post::posted);
  const std::jthread thread{[&] { EXPECT_EQ(sender->send_bulk({second, BulkSlot{0}, data, 1}), Post::posted); }};
  receiver.reset();
  buffer.reset();
}

TEST(Loopback, follows_the_clock_that_it_is_given) {
  ManualClock clock;
  LoopbackNetwork network{1, {.clock = &clock}};
  clock.advance_to(nanoseconds{42});
  EXPECT_EQ(network.driver(first)->clock().now(), nanoseconds{42});
}

TEST(Loopback, refuses_what_makes_no_sense) {
  EXPECT_THROW(LoopbackNetwork{0}, Error);
  EXPECT_THROW((LoopbackNetwork{1, {.packet_bytes_max = 10}}), Error);
  LoopbackNetwork network{1};
  EXPECT_THROW((void)network.driver(second), Error);
  EXPECT_THROW((void)network.driver(Rank{}), Error);
  const auto driver = network.driver(first);
  EXPECT_THROW((void)network.driver(first), Error);
}

}  // namespace
}  // namespace plait::net::loopback_test
