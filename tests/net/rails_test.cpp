// SPDX-License-Identifier: Apache-2.0
// Several networks as rails of one: the conformance cases, and how bulk data is divided.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/net/loopback/loopback.hpp"
#include "plait/net/rails/detail/rates.hpp"
#include "plait/net/rails/rails_driver.hpp"
#include "plait/net/sim/sim.hpp"

#include "net/conformance.hpp"
#include "net/conformance_worlds.hpp"
#include "net/sim_networks.hpp"

namespace plait::net::conformance::rails_test {
namespace {

using detail::rails::Division;
using detail::rails::Rates;

constexpr std::size_t mebi = std::size_t{1} << 20U;

std::string name_of_rail(std::size_t rail) {
  return "eth" + std::to_string(rail);
}

class LoopbackRails final : public World {
 public:
  LoopbackRails(std::uint32_t ranks, const std::vector<LoopbackOptions>& rails) {
    for (const LoopbackOptions& options : rails) {
      networks_.emplace_back(ranks, options);
    }
  }

  std::unique_ptr<Driver> driver(Rank rank) override {
    std::vector<Rail> rails;
    for (LoopbackNetwork& network : networks_) {
      rails.push_back({network.driver(rank), name_of_rail(rails.size())});
    }
    return make_rails_driver(std::move(rails));
  }

 private:
  std::vector<LoopbackNetwork> networks_;
};

/// Simulated networks whose clocks show one time.
class SimRails final : public World {
 public:
  SimRails(std::uint32_t ranks, const std::vector<SimOptions>& rails, const RailsOptions& options = {})
      : options_{options} {
    for (const SimOptions& one : rails) {
      networks_.push_back(std::make_unique<SimNetwork>(ranks, one));
    }
  }

  std::unique_ptr<Driver> driver(Rank rank) override {
    std::vector<Rail> rails;
    for (const auto& network : networks_) {
      rails.push_back({network->driver(rank), name_of_rail(rails.size())});
    }
    return make_rails_driver(std::move(rails), options_);
  }

  void let_time_pass() override { advance(); }

  /// Moves all clocks to the next event of any rail. False when there is none.
  bool advance() { return net::test::advance_together(networks_); }

  [[nodiscard]] SimNetwork& network(std::size_t rail) { return *networks_[rail]; }

 private:
  RailsOptions options_;
  std::vector<std::unique_ptr<SimNetwork>> networks_;
};

std::vector<Setting> settings() {
  const auto loopback = [](const std::vector<LoopbackOptions>& rails) {
    return [rails](std::uint32_t ranks) -> std::unique_ptr<World> {
      return std::make_unique<LoopbackRails>(ranks, rails);
    };
  };
  const auto sim = [](const std::vector<SimOptions>& rails, const RailsOptions& options = {}) {
    return [rails, options](std::uint32_t ranks) -> std::unique_ptr<World> {
      return std::make_unique<SimRails>(ranks, rails, options);
    };
  };
  const LoopbackOptions small{.packet_bytes_max = 1024, .mailbox_packets_max = 3, .bulk_slot_count = 3};
  const SimOptions late{.seed = 7, .delay_max = nanoseconds{50000}};
  const SimOptions slow{.cost = {.per_byte_ns = 1}, .seed = 5};
  const SimOptions free{.seed = 8, .delay_max = nanoseconds{50000}, .order = SimOrder::free};
  const SimOptions full{.seed = 9,
                        .delay_max = nanoseconds{3000},
                        .retry_probability = 0.4,
                        .send_queue_packets_max = 2,
                        .bulk_slot_count = 3,
                        .bulk_chunk_bytes = 5000};
  const Terms terms{.bulk_bytes_max = 700'001};
  return {{"two", loopback({{}, {}}), {}},
          {"small_first", loopback({small, {}}), {}},
          {"small_second", loopback({{}, small}), {}},
          {"two_threads", loopback({{}, {}}), {}, Threads::one_a_rank},
          {"eight_threads", loopback(std::vector<LoopbackOptions>(8, small)), {}, Threads::one_a_rank},
          {"sim_unequal", sim({{}, slow, late}), terms},
          {"sim_disorder", sim({free, free}), {.keeps_order = false, .bulk_bytes_max = terms.bulk_bytes_max}},
          {"sim_full", sim({full, full}), terms},
          {"sim_full_second", sim({{}, full}, {.divided_bytes_min = 1}), terms}};
}

class RailsConformance : public testing::TestWithParam<Parameter> {};

TEST_P(RailsConformance, holds) {
  const auto& [setting, rank_count, played] = GetParam();
  play(setting, rank_count, played);
}

INSTANTIATE_TEST_SUITE_P(All,
                         RailsConformance,
                         testing::Combine(testing::ValuesIn(settings()),
                                          testing::Values(1U, 3U),
                                          testing::ValuesIn(cases())),
                         name_of<Parameter>);

// --- how data is divided --------------------------------------------------------------------------

std::uint64_t sum_of(const Division& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0});
}

double share(const Division& parts, std::size_t rail) {
  return static_cast<double>(parts[rail]) / static_cast<double>(sum_of(parts));
}

/// Transfers one after another, over rails that deliver their parts at once at their rates.
class Measurement {
 public:
  /// Returns how the last of `count` transfers was divided. Rates are bytes per nanosecond.
  Division repeat(int count, std::size_t bytes, const std::array<double, 2>& bytes_per_ns) {
    Division parts{};
    for (int transfer = 0; transfer < count; ++transfer) {
      parts = rates_.divide(bytes);
      const nanoseconds posted = now_;
      for (std::size_t rail = 0; rail < bytes_per_ns.size(); ++rail) {
        const auto time = static_cast<std::int64_t>(static_cast<double>(parts[rail]) / bytes_per_ns[rail]);
        rates_.note_arrival(rail, parts[rail], posted, posted + nanoseconds{time});
        now_ = std::max(now_, posted + nanoseconds{time});
      }
    }
    return parts;
  }

 private:
  Rates rates_{std::array{1.0, 1.0}};
  nanoseconds now_{1000};
};

TEST(Rates, divide_data_of_any_size_completely) {
  for (const std::size_t bytes : {1U, 2U, 63U, 64U, 129U, 100'003U, 1U << 20U}) {
    Rates rates{std::array{1.0, 2.5, 1.0}};
    EXPECT_EQ(sum_of(rates.divide(bytes)), bytes);
    EXPECT_EQ(sum_of(rates.give_to_one(bytes)), bytes);
  }
}

TEST(Rates, divide_as_given_until_they_are_measured) {
  Rates rates{std::array{1.0, 3.0}};
  const Division parts = rates.divide(mebi);
  EXPECT_NEAR(share(parts, 0), 0.25, 1e-3);
  EXPECT_EQ(parts[0] % 64, 0U) << "the next part begins at a cache line";
}

TEST(Rates, follow_what_is_measured) {
  Measurement measurement;
  EXPECT_NEAR(share(measurement.repeat(10, mebi, {0.1, 0.3}), 0), 0.25, 0.01);
  EXPECT_NEAR(share(measurement.repeat(300, mebi, {0.3, 0.1}), 0), 0.75, 0.01);
}

TEST(Rates, keep_a_slow_rail_in_use) {
  Measurement measurement;
  EXPECT_NEAR(share(measurement.repeat(300, mebi, {0.1, 1e-4}), 1), 1.0 / 33, 0.002);
  EXPECT_NEAR(share(measurement.repeat(600, mebi, {0.1, 0.1}), 1), 0.5, 0.01) << "when it has become faster";
}

TEST(Rates, stay_equal_when_parts_are_noticed_together) {
  Rates rates{std::array{1.0, 1.0}};
  for (int transfer = 0; transfer < 10; ++transfer) {
    const Division parts = rates.divide(mebi);
    const nanoseconds posted{5'000'000 * transfer};
    EXPECT_NEAR(share(parts, 0), 0.5, 1e-3);
    for (const std::size_t rail : {0U, 1U}) {
      rates.note_arrival(rail, parts[rail], posted, posted + nanoseconds{4'000'000});
    }
  }
}

TEST(Rates, give_undivided_data_to_the_rail_with_less_before_it) {
  Rates rates{std::array{1.0, 3.0}};
  EXPECT_GT(rates.give_to_one(3000)[1], 0U);
  EXPECT_GT(rates.give_to_one(1000)[0], 0U) << "1000 take as long there as 4000 on the other";
  EXPECT_GT(rates.give_to_one(1000)[1], 0U);
}

TEST(Rates, give_less_to_a_rail_that_is_late) {
  Rates rates{std::array{1.0, 1.0}};
  const Division first = rates.divide(1'000'000);
  rates.note_arrival(0, first[0], nanoseconds{0}, nanoseconds{1000});
  EXPECT_LT(rates.divide(1'000'000)[1], 300'000U);
}

// --- the driver -----------------------------------------------------------------------------------

/// Two ranks; rank 0 sends to rank 1, in one slot.
class Pair {
 public:
  explicit Pair(SimRails& world) : world_{world}, sender_{world.driver(Rank{0})}, receiver_{world.driver(Rank{1})} {}

  /// Posts a transfer of `buffer_bytes`, of which the sender has `data_bytes`.
  void post(std::size_t data_bytes, std::size_t buffer_bytes) {
    data_.assign(data_bytes, std::byte{7});
    buffer_.assign(buffer_bytes, std::byte{0});
    while (receiver_->receive_bulk({Rank{0}, BulkSlot{0}, buffer_, 1}) == Post::retry) {
      poll();
    }
    while (sender_->send_bulk({Rank{1}, BulkSlot{0}, data_, 2}) == Post::retry) {
      poll();
    }
  }
  void poll() {
    for (Driver* const driver : {sender_.get(), receiver_.get()}) {
      done_ += driver->poll(arrivals_, bulk_).bulk;
    }
  }
  /// Time until both ranks have the completion.
  nanoseconds transfer(std::size_t bytes) {
    const nanoseconds start = receiver_->clock().now();
    done_ = 0;
    post(bytes, bytes);
    for (int polls = 0; done_ < 2 && polls < 1'000'000; ++polls) {
      poll();
      world_.advance();
    }
    EXPECT_EQ(done_, 2U);
    EXPECT_EQ(data_, buffer_);
    return receiver_->clock().now() - start;
  }

  [[nodiscard]] std::size_t done() const { return done_; }
  [[nodiscard]] Driver& sender() { return *sender_; }

 private:
  SimRails& world_;
  std::unique_ptr<Driver> sender_;
  std::unique_ptr<Driver> receiver_;
  std::vector<std::byte> data_;
  std::vector<std::byte> buffer_;
  std::vector<Arrival> arrivals_ = std::vector<Arrival>(4);
  std::vector<BulkDone> bulk_ = std::vector<BulkDone>(4);
  std::size_t done_ = 0;
};

constexpr std::size_t long_bytes = 4 * mebi;

double ms_of_one_rail() {
  return static_cast<double>(long_bytes) * LogGP{}.per_byte_ns * 1e-6;
}
double ms(nanoseconds time) {
  return static_cast<double>(time.count()) * 1e-6;
}

TEST(RailsDriver, moves_long_data_at_the_rate_of_all_rails) {
  SimRails world{2, {{}, {}}};
  EXPECT_NEAR(ms(Pair{world}.transfer(long_bytes)), ms_of_one_rail() / 2, 0.1 * ms_of_one_rail());
}

TEST(RailsDriver, learns_that_rails_are_unequal) {
  SimRails world{2, {{}, {.cost = {.per_byte_ns = 3 * LogGP{}.per_byte_ns}}}};
  Pair pair{world};
  EXPECT_NEAR(ms(pair.transfer(long_bytes)), ms_of_one_rail() * 3 / 2, 0.1 * ms_of_one_rail());
  for (int transfer = 0; transfer < 5; ++transfer) {
    pair.transfer(long_bytes);
  }
  EXPECT_NEAR(ms(pair.transfer(long_bytes)), ms_of_one_rail() * 3 / 4, 0.1 * ms_of_one_rail());
}

TEST(RailsDriver, completes_a_transfer_when_all_its_parts_are_complete) {
  SimRails world{2, {{}, {.bulk_chunk_bytes = 1000}}};
  Pair pair{world};
  pair.post(long_bytes, long_bytes);
  for (int polls = 0; polls < 100; ++polls) {  // one rail at rest
    world.network(1).advance_to(world.network(1).clock().now() + nanoseconds{1000});
    pair.poll();
  }
  while (world.network(0).advance()) {
    pair.poll();
  }
  EXPECT_EQ(pair.done(), 0U);
  EXPECT_FALSE(pair.sender().is_idle());
  while (world.network(1).advance()) {
    pair.poll();
  }
  pair.poll();
  EXPECT_EQ(pair.done(), 2U);
  EXPECT_TRUE(pair.sender().is_idle());
}

TEST(RailsDriver, tries_again_what_one_rail_refuses) {
  SimRails world{2, {{}, {.seed = 3, .retry_probability = 0.95}}};
  Pair pair{world};
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{70'001}, long_bytes}) {
    pair.transfer(bytes);
  }
}

TEST(RailsDriver, is_the_first_rail_with_the_bulk_data_of_all) {
  SimRails world{2,
                 {{.packets_in_flight_max = 7, .bulk_slot_count = 9, .bulk_in_flight_max = 1000},
                  {.packet_bytes_max = 2048, .bulk_slot_count = 3, .bulk_in_flight_max = 500}}};
  const auto driver = world.driver(Rank{0});
  EXPECT_EQ(driver->packet_bytes_max(), SimOptions{}.packet_bytes_max);
  EXPECT_EQ(driver->packets_in_flight_max(), 7U);
  EXPECT_EQ(driver->bulk_slot_count(), 3U);
  EXPECT_EQ(driver->bulk_in_flight_max(Rank{1}), 1500U);
  EXPECT_STREQ(driver->name(), "2 rails (eth0: sim, eth1: sim)");
  SimRails unbounded{2, {{.bulk_in_flight_max = 1000}, {}}};
  EXPECT_EQ(unbounded.driver(Rank{0})->bulk_in_flight_max(Rank{1}), SimOptions{}.bulk_in_flight_max);
}

TEST(RailsDriver, names_the_rail_that_has_failed) {
  SimRails world{2, {{}, {.failures = {{Rank{1}, nanoseconds{1}}}}}};
  const auto driver = world.driver(Rank{0});
  world.network(1).advance_to(nanoseconds{1000});
  const std::vector<std::byte> data(long_bytes);
  std::vector<std::byte> buffer(long_bytes);
  try {
    static_cast<void>(driver->receive_bulk({Rank{1}, BulkSlot{0}, buffer, 1}));
    FAIL() << "rank 1 cannot be reached over the second rail";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::network);
    EXPECT_EQ(error.rank(), Rank{1});
    EXPECT_TRUE(std::string{error.what()}.starts_with("rail eth1: ")) << error.what();
  }
}

TEST(RailsDriver, reports_lengths_that_differ) {
  SimRails world{2, {{}, {}}};
  Pair pair{world};
  pair.post(1000, 2000);
  try {
    while (world.advance()) {
      pair.poll();
    }
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::network);
    EXPECT_EQ(error.rank(), Rank{1});
  }
}

TEST(RailsDriver, reports_packets_of_a_program_on_the_second_rail) {
  LoopbackNetwork one{2};
  LoopbackNetwork other{2};
  const auto crossed = [&](Rank rank, LoopbackNetwork& first, LoopbackNetwork& second) {
    std::vector<Rail> rails;
    rails.push_back({first.driver(rank), "a"});
    rails.push_back({second.driver(rank), "b"});
    return make_rails_driver(std::move(rails));
  };
  const auto sender = crossed(Rank{0}, one, other);
  const auto receiver = crossed(Rank{1}, other, one);
  ASSERT_NE(sender->send_copy(Rank{1}, std::array{std::byte{1}}, {}), Post::retry);
  std::vector<Arrival> arrivals(1);
  EXPECT_THROW(static_cast<void>(receiver->poll(arrivals, {})), Error);
}

TEST(RailsDriver, refuses_rails_that_cannot_be_combined) {
  const auto with = [](std::uint32_t ranks, Rank self, double rate, std::size_t count) {
    std::vector<Rail> rails;
    LoopbackNetwork first{2};
    rails.push_back({first.driver(Rank{0}), "a"});
    for (std::size_t rail = 1; rail < count; ++rail) {
      rails.push_back({LoopbackNetwork{ranks}.driver(self), "b", rate});
    }
    return make_rails_driver(std::move(rails));
  };
  EXPECT_NO_THROW(with(2, Rank{0}, 1, rails_max));
  EXPECT_THROW(with(2, Rank{0}, 1, 1), Error) << "one rail";
  EXPECT_THROW(with(2, Rank{0}, 1, rails_max + 1), Error) << "too many";
  EXPECT_THROW(with(3, Rank{0}, 1, 2), Error) << "another number of ranks";
  EXPECT_THROW(with(2, Rank{1}, 1, 2), Error) << "another rank";
  EXPECT_THROW(with(2, Rank{0}, 0, 2), Error) << "no rate";
}

}  // namespace
}  // namespace plait::net::conformance::rails_test
