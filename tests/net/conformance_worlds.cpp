// SPDX-License-Identifier: Apache-2.0
#include "net/conformance_worlds.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace plait::net::conformance {
namespace {

/// More turns than any case takes: a case that needs them hangs.
constexpr std::uint64_t turns_max = 50'000'000;

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

}  // namespace

void play(const Setting& setting, std::uint32_t rank_count, const Case& played) {
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
    EXPECT_TRUE(player.done.empty()) << "rank " << player.rank() << " got a completion too many";
  }
}

}  // namespace plait::net::conformance
