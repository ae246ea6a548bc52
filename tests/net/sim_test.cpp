// SPDX-License-Identifier: Apache-2.0
// What the simulated network promises beyond every driver: times, repeatable runs, failures.
#include "plait/net/sim/sim.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/base/random.hpp"

namespace plait::net::sim_test {
namespace {

constexpr Rank first{0};
constexpr Rank second{1};
constexpr Rank third{2};

/// L = 1000, o = 100, g = 300, G = 1 ns: every part can be distinguished.
constexpr LogGP distinct{
    .latency = nanoseconds{1000}, .overhead = nanoseconds{100}, .gap = nanoseconds{300}, .per_byte_ns = 1};

struct Seen {
  std::vector<Arrival> arrivals;
  std::vector<BulkDone> bulk;
};

Seen poll(Driver& driver) {
  std::array<Arrival, 64> arrivals;
  std::array<BulkDone, 64> bulk;
  const Polled polled = driver.poll(arrivals, bulk);
  Seen seen;
  std::move(arrivals.begin(),
            arrivals.begin() + static_cast<std::ptrdiff_t>(polled.arrivals),
            std::back_inserter(seen.arrivals));
  seen.bulk.assign(bulk.begin(), bulk.begin() + static_cast<std::ptrdiff_t>(polled.bulk));
  return seen;
}

Post send(Driver& driver, Rank to, std::size_t bytes, int mark = 0) {
  Packet packet = driver.acquire();
  packet.resize(bytes);
  std::fill_n(packet.data(), bytes, static_cast<std::byte>(mark));
  return driver.send(to, std::move(packet));
}

/// Lets time pass until `driver` has an arrival.
nanoseconds time_of_arrival(SimNetwork& network, Driver& driver) {
  while (poll(driver).arrivals.empty()) {
    EXPECT_TRUE(network.advance()) << "nothing will ever come";
  }
  return network.clock().now();
}

TEST(Sim, charges_a_packet_what_LogGP_says) {
  SimNetwork network{2, {.cost = distinct}};
  const auto sender = network.driver(first);
  const auto receiver = network.driver(second);
  EXPECT_EQ(send(*sender, second, 501), Post::posted);
  EXPECT_FALSE(sender->is_idle());
  EXPECT_EQ(time_of_arrival(network, *receiver), nanoseconds{100 + 500 + 1000 + 100});
  EXPECT_TRUE(sender->is_idle());
}

TEST(Sim, lets_packets_leave_one_after_another) {
  SimNetwork network{2, {.cost = distinct}};
  const auto sender = network.driver(first);
  const auto receiver = network.driver(second);
  EXPECT_EQ(send(*sender, second, 1), Post::posted);
  EXPECT_EQ(send(*sender, second, 1), Post::posted);
  const nanoseconds one = time_of_arrival(network, *receiver);
  const nanoseconds other = time_of_arrival(network, *receiver);
  EXPECT_EQ(one, nanoseconds{1200});
  EXPECT_EQ(other - one, distinct.gap);
}

TEST(Sim, lets_packets_of_many_come_in_one_after_another) {
  SimNetwork network{3, {.cost = distinct}};
  const auto one = network.driver(first);
  const auto other = network.driver(second);
  const auto receiver = network.driver(third);
  EXPECT_EQ(send(*one, third, 1001), Post::posted);
  EXPECT_EQ(send(*other, third, 1001), Post::posted);
  EXPECT_EQ(time_of_arrival(network, *receiver), nanoseconds{100 + 1000 + 1000 + 100});
  EXPECT_EQ(time_of_arrival(network, *receiver), nanoseconds{2200 + 300 + 1000});
}

TEST(Sim, lets_a_packet_pass_between_the_chunks_of_bulk_data) {
  constexpr std::size_t chunk = 10'000;
  SimNetwork network{2, {.cost = distinct, .bulk_chunk_bytes = chunk}};
  const auto sender = network.driver(first);
  const auto receiver = network.driver(second);
  const std::vector<std::byte> data(100 * chunk, std::byte{5});
  std::vector<std::byte> buffer(data.size());
  EXPECT_EQ(receiver->receive_bulk({first, BulkSlot{0}, buffer, 1}), Post::posted);
  EXPECT_EQ(sender->send_bulk({second, BulkSlot{0}, data, 2}), Post::posted);
  EXPECT_EQ(send(*sender, second, 1), Post::posted);
  EXPECT_LT(time_of_arrival(network, *receiver), nanoseconds{3 * chunk});
  while (network.advance()) {
  }
  EXPECT_GT(network.clock().now(), nanoseconds{data.size()});
  EXPECT_EQ(buffer, data);
}

TEST(Sim, tells_a_bulk_sender_before_the_receiver) {
  SimNetwork network{2, {.cost = distinct}};
  const auto sender = network.driver(first);
  const auto receiver = network.driver(second);
  std::vector<std::byte> data(100, std::byte{5});
  std::vector<std::byte> buffer(100);
  EXPECT_EQ(sender->send_bulk({second, BulkSlot{0}, data, 1}), Post::posted);
  EXPECT_EQ(receiver->receive_bulk({first, BulkSlot{0}, buffer, 2}), Post::posted);
  while (poll(*sender).bulk.empty()) {
    EXPECT_TRUE(network.advance());
  }
  std::fill(data.begin(), data.end(), std::byte{6});  // as the sender may from now on
  EXPECT_TRUE(poll(*receiver).bulk.empty());
  while (network.advance()) {
  }
  EXPECT_EQ(poll(*receiver).bulk.size(), 1U);
  EXPECT_EQ(buffer, std::vector<std::byte>(100, std::byte{5}));
}

TEST(Sim, answers_retry_when_the_queue_is_full) {
  SimNetwork network{2, {.send_queue_packets_max = 2}};
  const auto sender = network.driver(first);
  const auto receiver = network.driver(second);
  EXPECT_EQ(send(*sender, second, 1), Post::posted);
  EXPECT_FALSE(sender->is_full());
  EXPECT_EQ(send(*sender, second, 1), Post::posted);
  EXPECT_TRUE(sender->is_full());
  EXPECT_EQ(send(*sender, second, 1), Post::retry);
  EXPECT_TRUE(network.advance());
  EXPECT_FALSE(sender->is_full());
  EXPECT_EQ(send(*sender, second, 1), Post::posted);
}

TEST(Sim, stands_still_when_nothing_is_pending) {
  SimNetwork network{1};
  EXPECT_FALSE(network.advance());
  EXPECT_EQ(network.clock().now(), nanoseconds{0});
  network.advance_to(nanoseconds{50});
  EXPECT_EQ(network.clock().now(), nanoseconds{50});
}

/// Random traffic between four ranks, as a text of all that happened and when.
std::string story(std::uint64_t seed, SimOrder order) {
  constexpr std::uint32_t rank_count = 4;
  SimNetwork network{rank_count,
                     {.seed = seed, .delay_max = nanoseconds{20'000}, .order = order, .retry_probability = 0.2}};
  std::vector<std::unique_ptr<Driver>> drivers;
  for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
    drivers.push_back(network.driver(Rank{rank}));
  }
  Random random{1};  // the same acts whatever the network's seed
  std::string told;
  for (int act = 0; act < 300; ++act) {
    const auto from = random.below(rank_count);
    const Rank to{static_cast<std::uint32_t>(random.below(rank_count))};
    const Post post = send(*drivers[from], to, 1 + random.below(1000), act % 256);
    told += fmt::format("{} {};", act, static_cast<int>(post));
    if (random.happens(0.5)) {
      network.advance();
    }
    for (const auto& driver : drivers) {
      for (Arrival& arrival : poll(*driver).arrivals) {
        told += fmt::format("{}: {}->{} {};",
                            network.clock().now().count(),
                            arrival.peer.value(),
                            driver->self().value(),
                            static_cast<int>(arrival.packet.data()[0]));
        driver->recycle(std::move(arrival.packet));
      }
    }
  }
  return told;
}

TEST(Sim, repeats_a_run_for_the_same_seed_only) {
  for (const SimOrder order : {SimOrder::kept_in_pair, SimOrder::free}) {
    EXPECT_EQ(story(5, order), story(5, order));
    EXPECT_NE(story(5, order), story(6, order));
  }
}

TEST(Sim, reorders_within_a_pair_only_when_told_to) {
  const auto is_in_order = [](SimOrder order) {
    SimNetwork network{2, {.delay_max = nanoseconds{100'000}, .order = order}};
    const auto sender = network.driver(first);
    const auto receiver = network.driver(second);
    for (int number = 0; number < 50; ++number) {
      EXPECT_EQ(send(*sender, second, 8, number), Post::posted);
    }
    while (network.advance()) {
    }
    const std::vector<Arrival> arrivals = poll(*receiver).arrivals;
    EXPECT_EQ(arrivals.size(), 50U);
    return std::ranges::is_sorted(arrivals, {}, [](const Arrival& arrival) { return arrival.packet.data()[0]; });
  };
  EXPECT_TRUE(is_in_order(SimOrder::kept_in_pair));
  EXPECT_FALSE(is_in_order(SimOrder::free));
}

/// The rank that an error names, if `act` throws one of the network.
template <class Act>
std::optional<Rank> broken_by(Act act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::network);
    return error.rank();
  }
  return std::nullopt;
}

TEST(Sim, lets_a_rank_die) {
  SimNetwork network{2, {.failures = {{second, nanoseconds{5000}, nanoseconds{1000}}}}};
  const auto survivor = network.driver(first);
  const auto dead = network.driver(second);
  network.advance_to(nanoseconds{4900});
  EXPECT_TRUE(network.is_alive(second));
  EXPECT_EQ(send(*dead, first, 1), Post::posted);
  EXPECT_EQ(send(*survivor, second, 1), Post::posted);
  network.advance_to(nanoseconds{5500});
  EXPECT_FALSE(network.is_alive(second));
  EXPECT_EQ(send(*survivor, second, 1), Post::posted) << "not noticed yet";
  EXPECT_EQ(send(*dead, first, 1), Post::done) << "into nowhere";
  network.advance_to(nanoseconds{6000});
  EXPECT_EQ(broken_by([&] { (void)send(*survivor, second, 1); }), second);
  while (network.advance()) {
  }
  EXPECT_TRUE(poll(*survivor).arrivals.empty()) << "what was on the wire is lost";
  EXPECT_TRUE(poll(*dead).arrivals.empty());
  EXPECT_TRUE(survivor->is_idle());
}

TEST(Sim, notifies_all_of_a_death_when_it_shall) {
  SimNetwork network{3, {.failures = {{.rank = second, .at = nanoseconds{5000}, .notice = SimNotice::all}}}};
  const auto one = network.driver(first);
  const auto other = network.driver(third);
  EXPECT_FALSE(network.noticed_failure());
  network.advance_to(nanoseconds{5000});
  EXPECT_EQ(network.noticed_failure(), second);
  for (Driver* const survivor : {one.get(), other.get()}) {
    EXPECT_EQ(broken_by([&] { (void)poll(*survivor); }), second);
    EXPECT_EQ(broken_by([&] { (void)poll(*survivor); }), std::nullopt) << "once";
  }
}

TEST(Sim, a_slow_interface_takes_longer_for_each_byte_from_its_time_on) {
  const auto arrival = [](std::vector<SimSlowLink> slow, std::size_t bytes) {
    SimNetwork network{2, {.cost = distinct, .slow_links = std::move(slow)}};
    const auto sender = network.driver(first);
    const auto receiver = network.driver(second);
    EXPECT_EQ(send(*sender, second, bytes), Post::posted);
    return time_of_arrival(network, *receiver);
  };
  const nanoseconds usual = arrival({}, 1001);
  EXPECT_EQ(arrival({{.link = 0, .since = nanoseconds{1}}}, 1001), usual) << "it left before";
  EXPECT_EQ(arrival({{.link = 0}}, 1001), usual + nanoseconds{1000}) << "a slow sender";
  EXPECT_EQ(arrival({{.link = 1}}, 1001), usual + nanoseconds{1000}) << "a slow receiver";
  EXPECT_EQ(arrival({{.link = 1, .factor = 4}}, 1001), usual + nanoseconds{3000});
  EXPECT_EQ(arrival({{.link = 0}}, 1), arrival({}, 1)) << "only its bytes take longer";
  EXPECT_THROW((SimNetwork{2, {.slow_links = {{.link = 2}}}}), Error);
  EXPECT_THROW((SimNetwork{2, {.slow_links = {{.link = 0, .factor = 0.5}}}}), Error);
}

TEST(Sim, bulk_data_of_a_slow_sender_leaves_before_it_arrives) {
  SimNetwork network{2, {.slow_links = {{.link = 0, .factor = 100}}}};
  const auto sender = network.driver(first);
  const auto receiver = network.driver(second);
  std::vector<std::byte> data(1U << 20U);
  std::vector<std::byte> buffer(data.size());
  EXPECT_EQ(receiver->receive_bulk({first, BulkSlot{0}, buffer, 1}), Post::posted);
  EXPECT_EQ(sender->send_bulk({second, BulkSlot{0}, data, 2}), Post::posted);
  while (network.advance()) {
  }
  EXPECT_EQ(poll(*sender).bulk.size(), 1U);
  EXPECT_EQ(poll(*receiver).bulk.size(), 1U);
  EXPECT_TRUE(sender->is_idle());
}

TEST(Sim, what_it_carries_beside_packets_keeps_its_order) {
  SimNetwork network{2, {.seed = 3, .delay_max = nanoseconds{100'000}, .order = SimOrder::free}};
  std::vector<int> arrived;
  for (int number = 0; number < 50; ++number) {
    network.carry(first, second, 100, [&arrived, number] { arrived.push_back(number); });
  }
  while (network.advance()) {
  }
  EXPECT_EQ(arrived.size(), 50U);
  EXPECT_TRUE(std::ranges::is_sorted(arrived));
}

TEST(Sim, tells_whoever_had_bulk_data_under_way_with_the_dead) {
  SimNetwork network{3, {.cost = distinct, .failures = {{second, nanoseconds{5000}}}}};
  const auto sender = network.driver(first);
  const auto dead = network.driver(second);
  const auto receiver = network.driver(third);
  std::vector<std::byte> a(100'000);
  std::vector<std::byte> b(100'000);
  std::vector<std::byte> c(100'000);
  EXPECT_EQ(dead->receive_bulk({first, BulkSlot{0}, a, 1}), Post::posted);
  EXPECT_EQ(sender->send_bulk({second, BulkSlot{0}, b, 2}), Post::posted);
  EXPECT_EQ(receiver->receive_bulk({second, BulkSlot{3}, c, 3}), Post::posted);
  while (network.advance()) {
  }
  EXPECT_EQ(broken_by([&] { (void)poll(*sender); }), second);
  EXPECT_EQ(broken_by([&] { (void)poll(*sender); }), std::nullopt) << "told once";
  EXPECT_EQ(broken_by([&] { (void)poll(*receiver); }), second);
  EXPECT_TRUE(sender->is_idle());
}

TEST(Sim, carries_messages_beside_those_of_drivers) {
  SimNetwork network{3, {.cost = {nanoseconds{1000}, nanoseconds{200}, nanoseconds{200}, 1.0}}};
  std::vector<nanoseconds> arrived;
  const auto note = [&] { arrived.push_back(network.clock().now()); };
  network.carry(Rank{0}, Rank{1}, 101, note);
  network.carry(Rank{0}, Rank{1}, 101, note);  // after the gap and the bytes of the first
  while (network.advance()) {
  }
  // L + 2 o + (k - 1) G, and g + (k - 1) G later.
  EXPECT_EQ(arrived, (std::vector{nanoseconds{1500}, nanoseconds{1800}}));
}

TEST(Sim, carries_nothing_to_a_rank_that_has_failed) {
  SimNetwork network{2, {.failures = {{Rank{1}, nanoseconds{10}}}}};
  network.carry(Rank{0}, Rank{1}, 8, [] { FAIL() << "it arrived"; });
  while (network.advance()) {
  }
  EXPECT_FALSE(network.is_alive(Rank{1}));
}

TEST(Sim, may_end_before_its_drivers) {
  std::optional<SimNetwork> network{std::in_place, 1U};
  const auto driver = network->driver(first);
  network.reset();
  EXPECT_EQ(send(*driver, first, 1), Post::posted);
}

TEST(Sim, refuses_what_makes_no_sense) {
  EXPECT_THROW(SimNetwork{0}, Error);
  EXPECT_THROW((SimNetwork{1, {.retry_probability = 1}}), Error);
  EXPECT_THROW((SimNetwork{1, {.failures = {{second, {}}}}}), Error);
  EXPECT_THROW((SimNetwork{1, {.packet_bytes_max = 1}}), Error);
  EXPECT_THROW((SimNetwork{1, {.copied_bytes_max = 1}}), Error);
  SimNetwork network{1};
  EXPECT_THROW((void)network.driver(second), Error);
  const auto driver = network.driver(first);
  EXPECT_THROW((void)network.driver(first), Error);
}

}  // namespace
}  // namespace plait::net::sim_test
