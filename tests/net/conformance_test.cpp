// SPDX-License-Identifier: Apache-2.0
// The conformance cases on the networks that live in one process: in turns, and a thread a rank.
#include "net/conformance.hpp"

#include <memory>
#include <ostream>
#include <thread>

#include <gtest/gtest.h>

#include "plait/net/loopback/loopback.hpp"
#include "plait/net/sim/sim.hpp"

namespace plait::net::conformance {
namespace {

/// More turns than any case takes: a case that needs them hangs.
constexpr std::uint64_t turns_max = 50'000'000;

/// A network in this process.
class World {
 public:
  virtual ~World() = default;
  virtual std::unique_ptr<Driver> driver(Rank rank) = 0;
  /// Called when each rank has had its turn.
  virtual void let_time_pass() {}
};

class LoopbackWorld final : public World {
 public:
  LoopbackWorld(std::uint32_t ranks, const LoopbackOptions& options) : network_{ranks, options} {}
  std::unique_ptr<Driver> driver(Rank rank) override { return network_.driver(rank); }

 private:
  LoopbackNetwork network_;
};

class SimWorld final : public World {
 public:
  SimWorld(std::uint32_t ranks, const SimOptions& options) : network_{ranks, options} {}
  std::unique_ptr<Driver> driver(Rank rank) override { return network_.driver(rank); }
  void let_time_pass() override { network_.advance(); }

 private:
  SimNetwork network_;
};

enum class Threads : std::uint8_t { one, one_a_rank };

struct Setting {
  std::string name;
  std::function<std::unique_ptr<World>(std::uint32_t ranks)> make;
  Terms terms;
  Threads threads = Threads::one;
};

std::vector<Setting> settings() {
  const auto loopback = [](const LoopbackOptions& options) {
    return [options](std::uint32_t ranks) -> std::unique_ptr<World> {
      return std::make_unique<LoopbackWorld>(ranks, options);
    };
  };
  const auto sim = [](const SimOptions& options) {
    return
        [options](std::uint32_t ranks) -> std::unique_ptr<World> { return std::make_unique<SimWorld>(ranks, options); };
  };
  const Terms small{.bulk_bytes_max = 700'001};
  return {
      {"loopback", loopback({}), {}},
      {"loopback_small", loopback({.packet_bytes_max = 1024, .mailbox_packets_max = 3}), small},
      {"loopback_threads", loopback({}), {}, Threads::one_a_rank},
      {"sim", sim({}), {}},
      {"sim_late", sim({.seed = 7, .delay_max = nanoseconds{50000}}), small},
      {"sim_disorder",
       sim({.seed = 8, .delay_max = nanoseconds{50000}, .order = SimOrder::free}),
       {.keeps_order = false, .bulk_bytes_max = small.bulk_bytes_max}},
      {"sim_full",
       sim({.seed = 9,
            .delay_max = nanoseconds{3000},
            .retry_probability = 0.4,
            .send_queue_packets_max = 2,
            .bulk_slot_count = 3,
            .bulk_chunk_bytes = 5000}),
       small},
  };
}

// For gtest's messages: the parameters hold functions, which it would print byte by byte.
void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.name;
}

using Parameter = std::tuple<Setting, std::uint32_t, Case>;

class Conformance : public testing::TestWithParam<Parameter> {};

void play_in_turns(World& world, std::deque<Player>& players, const Case& played, const Terms& terms) {
  std::vector<Part> parts;
  parts.reserve(players.size());
  for (Player& player : players) {
    parts.push_back(played.play(player, terms));
  }
  std::size_t over = 0;
  for (std::uint64_t turn = 0; over < players.size(); ++turn) {
    ASSERT_LT(turn, turns_max) << "the case hangs";
    over = 0;
    for (std::size_t rank = 0; rank < players.size(); ++rank) {
      players[rank].poll();
      if (!parts[rank].is_over()) {
        parts[rank].step();
      }
      over += parts[rank].is_over() && players[rank].driver().is_idle() ? 1 : 0;
    }
    world.let_time_pass();
  }
}

void play_at_once(std::deque<Player>& players, const Case& played, const Terms& terms) {
  std::vector<std::jthread> threads;
  threads.reserve(players.size());
  for (Player& player : players) {
    threads.emplace_back([&player, &played, &terms] {
      Part part = played.play(player, terms);
      for (std::uint64_t turn = 0; !part.is_over() || !player.driver().is_idle(); ++turn) {
        ASSERT_LT(turn, turns_max) << "the case hangs";
        player.poll();
        if (!part.is_over()) {
          part.step();
        }
        if (player.arrivals.empty()) {
          std::this_thread::yield();
        }
      }
    });
  }
}

TEST_P(Conformance, holds) {
  const auto& [setting, rank_count, played] = GetParam();
  const std::unique_ptr<World> world = setting.make(rank_count);
  std::vector<std::unique_ptr<Driver>> drivers;
  std::deque<Player> players;
  for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
    drivers.push_back(world->driver(Rank{rank}));
    players.emplace_back(*drivers.back());
    EXPECT_EQ(players.back().rank(), rank);
    EXPECT_EQ(players.back().rank_count(), rank_count);
  }
  if (setting.threads == Threads::one) {
    play_in_turns(*world, players, played, setting.terms);
  } else {
    play_at_once(players, played, setting.terms);
  }
  for (Player& player : players) {
    player.set_poll_room(1, 1);
    player.arrivals.clear();
    player.done.clear();
    player.poll();
    EXPECT_TRUE(player.arrivals.empty()) << "rank " << player.rank() << " got too much";
    EXPECT_TRUE(player.done.empty()) << "rank " << player.rank() << " was told too much";
  }
}

std::string name_of(const testing::TestParamInfo<Parameter>& info) {
  const auto& [setting, rank_count, played] = info.param;
  return setting.name + "_" + std::to_string(rank_count) + "_" + played.name;
}

INSTANTIATE_TEST_SUITE_P(All,
                         Conformance,
                         testing::Combine(testing::ValuesIn(settings()),
                                          testing::Values(1U, 3U),
                                          testing::ValuesIn(cases())),
                         name_of);

}  // namespace

}  // namespace plait::net::conformance
