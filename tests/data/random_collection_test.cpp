// SPDX-License-Identifier: Apache-2.0
// Random operations of collections on a network that delays and reorders, beside what a plain program does.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/random.hpp"
#include "plait/data/collection.hpp"

#include "data/sim_ranks.hpp"

namespace plait::data {
namespace {

using test::run_simulated;
using test::SimLayout;
using test::SimRank;

/// All that is random is a function of this: every rank, and the model, draws the same.
std::uint64_t draw(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) {
  Random random{a * 0x9e37'79b9'7f4a'7c15U + b * 0xbf58'476d'1ce4'e5b9U + c * 0x94d0'49bb'1331'11ebU + 1};
  return random();
}

/// A message: where it goes on to when it has been taken follows from it alone.
struct Ball {
  std::uint64_t value = 0;
  std::uint32_t hops = 0;

  [[nodiscard]] ElementId next(std::uint64_t element_count) const { return ElementId{draw(value, 7) % element_count}; }
  [[nodiscard]] Ball onwards() const { return {draw(value, 8), hops - 1}; }
};

/// What an element sends in its own turn.
std::vector<std::pair<ElementId, Ball>> throws_of(std::uint64_t seed,
                                                  std::uint64_t phase,
                                                  std::uint64_t id,
                                                  std::uint64_t element_count) {
  std::vector<std::pair<ElementId, Ball>> balls;
  const std::uint64_t start = draw(seed, phase, id);
  for (std::uint64_t i = 0; i < start % 6; ++i) {
    const std::uint64_t value = draw(start, i);
    balls.emplace_back(ElementId{value % element_count}, Ball{value, static_cast<std::uint32_t>(value >> 60U) % 5});
  }
  return balls;
}

/// What elements of both sides have: the collection's and the model's.
struct Player {
  std::uint64_t taken = 0;
  std::uint64_t sum = 0;  ///< Of what was taken, in any order.
  std::map<std::uint64_t, std::uint64_t> told;
  std::map<std::uint64_t, std::uint64_t> heard;
  std::uint64_t mistakes = 0;
  std::string ballast;  ///< Of some, more than fits a packet.

  void take(Turn& turn, std::uint64_t from, std::uint64_t number, const Ball& ball) {
    ++taken;
    sum += ball.value;
    mistakes += ++heard[from] == number ? 0U : 1U;
    if (ball.hops > 0) {
      throw_ball(turn, ball.next(turn.shape().count()), ball.onwards());
    }
  }
  void throw_ball(Turn& turn, ElementId to, const Ball& ball) {
    turn.send<&Player::take>(to, turn.id().value(), ++told[to.value()], ball);
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(taken, sum, told, heard, mistakes, ballast);
  }
};

/// One after the other.
void play(std::vector<Player>& model, ElementId to, const Ball& ball) {
  Player& player = model[to.value()];
  ++player.taken;
  player.sum += ball.value;
  if (ball.hops > 0) {
    play(model, ball.next(model.size()), ball.onwards());
  }
}

struct Game {
  std::uint64_t seed;
  SimLayout layout;
  std::uint32_t elements;
};

net::SimOptions weather(std::uint64_t seed) {
  return {.seed = seed,
          .delay_max = std::chrono::microseconds{draw(seed, 1) % 50},
          .order = seed % 2 == 0 ? net::SimOrder::free : net::SimOrder::kept_in_pair,
          .retry_probability = seed % 3 == 0 ? 0.2 : 0,
          .packet_bytes_max = seed % 5 == 0 ? 1024U : 8192U};
}

std::vector<Move> random_moves(const Collection<Player>& players, std::uint64_t seed, std::uint32_t ranks) {
  std::vector<Move> moves;
  for (const auto& [id, player] : players.local()) {
    const std::uint64_t chance = draw(seed, id.value(), 99);
    if (chance % 3 != 0) {
      moves.push_back({id, Rank{static_cast<std::uint32_t>((chance >> 8U) % ranks)}});
    }
  }
  return moves;
}

void check_players(const Collection<Player>& players, const std::vector<Player>& model, const std::string& where) {
  for (const auto& [id, player] : players.local()) {
    ASSERT_EQ(player.taken, model[id.value()].taken) << where << " element " << id.value();
    ASSERT_EQ(player.sum, model[id.value()].sum) << where << " element " << id.value();
    ASSERT_EQ(player.mistakes, 0U) << where << ": order of a pair, element " << id.value();
  }
}

void play_game(const Game& game) {
  constexpr std::uint64_t phases = 6;
  std::atomic<std::uint64_t> seen = 0;
  run_simulated(game.layout, weather(game.seed), [&](SimRank& rank) {
    std::vector<Player> model(game.elements);
    Collection<Player> players{rank, Shape{game.elements}, [&](ElementId id, Index) {
                                 return Player{.ballast = std::string(id.value() % 4 == 0 ? 20'000 : 3, 'x')};
                               }};
    for (std::uint64_t phase = 0; phase < phases; ++phase) {
      for (std::uint64_t id = 0; id < game.elements; ++id) {
        for (const auto& [to, ball] : throws_of(game.seed, phase, id, game.elements)) {
          play(model, to, ball);
        }
      }
      players.each([&](Player& player, Turn& turn) {
        for (const auto& [to, ball] : throws_of(game.seed, phase, turn.id().value(), game.elements)) {
          player.throw_ball(turn, to, ball);
        }
      });
      check_players(players, model, "seed " + std::to_string(game.seed) + " phase " + std::to_string(phase));
      players.migrate(random_moves(players, draw(game.seed, phase), rank.rank_count()));
    }
    check_players(players, model, "seed " + std::to_string(game.seed) + " at the end");
    seen += players.local_count();
  });
  EXPECT_EQ(seen, game.elements) << "seed " << game.seed;
}

TEST(RandomCollections, do_what_a_plain_program_does_wherever_elements_are) {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const auto ranks = static_cast<std::uint32_t>(1 + draw(seed, 2) % 5);
    play_game({.seed = seed,
               .layout = {.ranks = ranks, .workers = static_cast<std::uint32_t>(1 + seed % 2)},
               .elements = static_cast<std::uint32_t>(1 + draw(seed, 3) % 40)});
    if (HasFatalFailure()) {
      return;
    }
  }
}

}  // namespace
}  // namespace plait::data
