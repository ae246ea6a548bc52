// SPDX-License-Identifier: Apache-2.0
// The endpoint's protocols on ten thousand simulated networks: each seed draws delays, reordering, full queues and
// failures, packing, pieces, multicasts, layouts, rails. A failing seed is a complete bug report.
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plait/comm/wire.hpp"
#include "plait/net/rails/rails_driver.hpp"
#include "plait/net/sim/sim.hpp"

#include "comm/loopback_ranks.hpp"
#include "comm/random_network.hpp"
#include "net/sim_networks.hpp"

namespace plait::comm::endpoint_simulated_test {
namespace {

constexpr std::uint32_t rank_count = 4;
constexpr unsigned message_count = 40;
constexpr std::size_t message_bytes_max = 20'004;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr unsigned seeds_of_a_test = 25;
#else
constexpr unsigned seeds_of_a_test = 250;
#endif

/// Random messages among ranks on one simulated network.
class SimulatedTraffic {
 public:
  SimulatedTraffic(unsigned seed, std::vector<net::SimFailure> failures) : random_{seed} {
    net::SimOptions network = test::random_network(seed, std::move(failures), [this](unsigned n) { return below(n); });
    networks_.push_back(std::make_unique<net::SimNetwork>(rank_count, network));
    if (seed % 4 == 3) {  // two rails, of which the second has other delays and a quarter of the rate
      network.seed += 1;
      network.cost.per_byte_ns *= 4;
      networks_.push_back(std::make_unique<net::SimNetwork>(rank_count, network));
    }
    const EndpointOptions options{.eager_bytes_max = below(2) == 0 ? 16U : 10'000U,
                                  .packing = std::array{"immediate", "aggregate", "priority"}[below(3)],
                                  .packet_memory_bytes_max = below(100'000),
                                  .unexpected_bytes_max = below(20'000),
                                  .segment_bytes = 500 + below(30'000),
                                  .segments_in_flight = 1 + below(3),
                                  .copiers_max = 1 + below(2),
                                  .copy_piece_bytes = 1 + below(5000),
                                  .copy_memory_bytes_max = below(50'000)};
    for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
      drivers_.push_back(driver_of(Rank{rank}));
      recorders_.push_back(std::make_unique<trace::Recorder>(drivers_.back()->clock()));
      endpoints_.push_back(std::make_unique<Endpoint>(*drivers_.back(), *recorders_.back(), options));
    }
  }

  /// Posts sends and receives at random moments, then the rest, and goes on until nothing moves any more.
  void play() {
    try {
      for (unsigned number = 0; number < message_count; ++number) {
        send(number);
        for (unsigned turns = below(5); turns > 0; --turns) {
          turn();
        }
        receive(below(rank_count));
      }
      for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
        while (received_[rank].size() < expected_[rank]) {
          receive(rank);
        }
      }
    } catch (const Error&) {
      // A rank that has learnt of a failure refuses further work: fine, as long as it throws.
    }
    // Every turn either moves time or makes progress; 10 000 000 ns are far beyond what the traffic takes.
    for (int turns = 0; turns < 200'000 && turn(); ++turns) {
    }
  }

  [[nodiscard]] bool all_complete() const {
    const auto is_complete = [](const auto& entry) { return entry.request.is_complete(); };
    return std::ranges::all_of(sent_, is_complete) &&
           std::ranges::all_of(received_, [&](const auto& list) { return std::ranges::all_of(list, is_complete); });
  }

  /// Each message that a receive has got is one that was sent, whole, and those of one source are in order.
  void check_content() {
    for (auto& list : received_) {
      std::array<std::int64_t, rank_count> last;
      last.fill(-1);
      for (Transfer& one : list) {
        if (!one.is_posted || !one.request.is_complete()) {
          continue;  // left waiting by the failure
        }
        one.take_out(one.request.wait().bytes);
        unsigned number = 0;
        ASSERT_GE(one.data.size(), sizeof number);
        std::memcpy(&number, one.data.data(), sizeof number);
        ASSERT_LT(number, sent_.size());
        ASSERT_EQ(one.data, sent_[number].data);
        std::int64_t& before = last[one.request.wait().source.value()];
        ASSERT_GT(number, before);
        before = number;
      }
    }
  }

  [[nodiscard]] bool any_failure() const {
    return std::ranges::any_of(endpoints_, [](const auto& endpoint) { return endpoint->failure().has_value(); });
  }

 private:
  struct Transfer {
    Bytes data;
    Request request;
    bool is_posted = false;
    Bytes scattered = {};
    std::optional<Layout> layout = {};

    void take_out(std::size_t bytes) {
      if (layout) {
        data.resize(bytes);
        layout->gather(0, data);
      }
    }
  };

  /// Has the data in blocks of many sizes, in any order.
  void scatter(Transfer& one, std::size_t bytes) {
    one.scattered.resize(bytes);
    std::vector<std::span<std::byte>> blocks;
    for (std::span<std::byte> rest{one.scattered}; !rest.empty();) {
      const std::size_t size = std::min<std::size_t>(rest.size(), 1 + below(below(2) == 0 ? 50 : 5000));
      blocks.push_back(rest.first(size));
      rest = rest.subspan(size);
    }
    std::ranges::shuffle(blocks, random_);
    one.layout = Layout::blocks(std::move(blocks));
  }

  unsigned below(unsigned n) { return std::uniform_int_distribution<unsigned>{0, n - 1}(random_); }

  std::unique_ptr<net::Driver> driver_of(Rank rank) {
    if (networks_.size() == 1) {
      return networks_.front()->driver(rank);
    }
    std::vector<net::Rail> rails;
    for (const auto& network : networks_) {
      rails.push_back({network->driver(rank), fmt::format("{}", rails.size())});
    }
    return net::make_rails_driver(std::move(rails), {.divided_bytes_min = 2000});
  }

  bool turn() {
    std::size_t happened = 0;
    for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
      happened += networks_.front()->is_alive(Rank{rank}) ? endpoints_[rank]->progress() : 0;
    }
    const bool has_moved = net::test::advance_together(networks_);
    idle_turns_ = happened > 0 || has_moved ? 0 : idle_turns_ + 1;
    return idle_turns_ < 100;  // a post may be refused at random many times in a row
  }

  void send(unsigned number) {
    const Rank from{below(rank_count)};
    Bytes data = test::pattern(4 + (below(3) == 0 ? below(20'000) : below(100)), number);
    std::memcpy(data.data(), &number, sizeof number);
    Transfer& one = sent_.emplace_back(Transfer{std::move(data), {}});
    if (!networks_.front()->is_alive(from)) {
      return;
    }
    Endpoint& endpoint = *endpoints_[from.value()];
    const SendOptions options{.priority = static_cast<std::int16_t>(below(3))};
    if (below(3) == 0) {
      std::vector<Destination> to;
      for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
        if (below(2) == 0) {
          to.push_back({Rank{rank}, static_cast<std::int16_t>(below(3))});
          ++expected_[rank];
        }
      }
      one.request = endpoint.multicast(std::move(to), Tag{0}, one.data, options);
    } else {
      const Rank to{below(rank_count)};
      if (below(2) == 0) {
        scatter(one, one.data.size());
        one.layout->scatter(0, one.data);
        one.request = endpoint.send({to, Tag{0}}, *one.layout, options);
      } else {
        one.request = endpoint.send({to, Tag{0}}, one.data, options);
      }
      ++expected_[to.value()];
    }
  }

  void receive(std::uint32_t rank) {
    if (received_[rank].size() < expected_[rank]) {
      Transfer& place = received_[rank].emplace_back();
      if (networks_.front()->is_alive(Rank{rank})) {
        const Address from{any_source, below(2) == 0 ? any_tag : Tag{0}};
        if (below(2) == 0) {
          scatter(place, message_bytes_max);
          place.request = endpoints_[rank]->receive(from, *place.layout);
        } else {
          place.request = endpoints_[rank]->receive(from, place.data);
        }
        place.is_posted = true;
      }
    }
  }

  std::mt19937 random_;
  std::vector<std::unique_ptr<net::SimNetwork>> networks_;
  std::deque<Transfer> sent_;
  std::array<std::deque<Transfer>, rank_count> received_;
  std::array<unsigned, rank_count> expected_{};
  unsigned idle_turns_ = 0;
  std::vector<std::unique_ptr<net::Driver>> drivers_;
  std::vector<std::unique_ptr<trace::Recorder>> recorders_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;  // last: gone before what they use
};

class Simulated : public testing::TestWithParam<unsigned> {};

TEST_P(Simulated, traffic_arrives_whole_and_in_order_whatever_the_network_does) {
  for (unsigned seed = GetParam() * seeds_of_a_test; seed < (GetParam() + 1) * seeds_of_a_test; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SimulatedTraffic traffic{seed, {}};
    traffic.play();
    ASSERT_TRUE(traffic.all_complete());
    ASSERT_FALSE(traffic.any_failure());
    ASSERT_NO_FATAL_FAILURE(traffic.check_content());
  }
}

TEST_P(Simulated, traffic_ends_with_a_clean_error_or_rightly_when_a_rank_dies) {
  for (unsigned seed = GetParam() * seeds_of_a_test; seed < (GetParam() + 1) * seeds_of_a_test; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SimulatedTraffic traffic{seed, {{Rank{seed % rank_count}, std::chrono::microseconds{seed * 7 % 300}}}};
    traffic.play();  // comes to an end
    ASSERT_NO_FATAL_FAILURE(traffic.check_content());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Simulated, testing::Range(0U, 20U));

TEST(Endpoint, sends_at_once_what_the_driver_copies_although_it_is_longer_than_a_packet) {
  net::SimNetwork network{2, {.packet_bytes_max = 1024, .copied_bytes_max = 8192}};
  const std::array drivers{network.driver(Rank{0}), network.driver(Rank{1})};
  trace::Recorder recorder{network.clock()};
  Endpoint sender{*drivers[0], recorder};
  Endpoint receiver{*drivers[1], recorder};
  const Bytes data = test::pattern(8192 - sizeof(wire::Header), 1);
  const Request sent = sender.send({Rank{1}, Tag{1}}, data);
  EXPECT_TRUE(sent.is_complete()) << "before the receiver has polled";
  const Bytes longer = test::pattern(data.size() + 1, 2);
  const Request announced = sender.send({Rank{1}, Tag{2}}, longer);
  EXPECT_FALSE(announced.is_complete());

  Bytes expected(data.size());
  Bytes unexpected;
  const Request first = receiver.receive({Rank{0}, Tag{1}}, expected);
  while (!receiver.probe({Rank{0}, Tag{2}})) {
    network.advance();
    receiver.progress();
    sender.progress();
  }
  EXPECT_EQ(expected, data);
  const Request second = receiver.receive({Rank{0}, Tag{2}}, unexpected);
  while (!second.is_complete() || !announced.is_complete()) {
    network.advance();
    receiver.progress();
    sender.progress();
  }
  EXPECT_EQ(unexpected, longer);
}

}  // namespace
}  // namespace plait::comm::endpoint_simulated_test
