// SPDX-License-Identifier: Apache-2.0
// Random operations of collections on a network that delays and reorders, beside what a plain program does.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/random.hpp"
#include "plait/data/collections/collection.hpp"
#include "plait/testing/local_rank.hpp"

namespace plait::data::random_collection_test {
namespace {

using plait::test::LocalRank;
using plait::test::run_on_ranks;

/// All that is random is a function of this: every rank, and the model, draws the same.
std::uint64_t draw(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) {
  Random random{a * 0x9e37'79b9'7f4a'7c15U + b * 0xbf58'476d'1ce4'e5b9U + c * 0x94d0'49bb'1331'11ebU + 1};
  return random();
}

constexpr std::uint64_t family = 1000;  // ids: below, the first elements; above, their children, by phase

/// What happens to an element in a phase.
enum class Fate : std::uint8_t { lives, has_child, ends_itself, is_ended };

/// A phase of a game: what is drawn in it.
struct Chance {
  std::uint64_t seed = 0;  ///< Of this phase.
  std::uint64_t phase = 0;
  std::uint64_t first_count = 0;  ///< Elements at the beginning of the game.

  [[nodiscard]] Fate fate(std::uint64_t id) const {
    const std::uint64_t chance = draw(seed, id, 5) % 16;
    if (id == 0 || chance > 4) {
      return Fate::lives;
    }
    return chance < 2    ? (id < family ? Fate::has_child : Fate::lives)
           : chance == 2 ? Fate::ends_itself
                         : Fate::is_ended;
  }
  [[nodiscard]] std::uint64_t child_of(std::uint64_t id, std::uint64_t in_phase) const {
    return family * (in_phase + 1) + id;
  }
  /// An element that is, was, is being made, or will never be.
  [[nodiscard]] std::uint64_t anyone(std::uint64_t value) const {
    const std::uint64_t id = value % first_count;
    const std::uint64_t kind = (value >> 20U) % 8;
    return kind < 5 ? id : child_of(id, kind == 5 ? phase : (value >> 30U) % (phase + 1));
  }
};

/// A message: where it goes on to when it has been taken follows from it alone.
struct Ball {
  Chance chance;
  std::uint64_t value = 0;
  std::uint64_t hops = 0;

  [[nodiscard]] std::uint64_t next() const { return chance.anyone(draw(value, 7)); }
  [[nodiscard]] Ball onwards() const { return {chance, draw(value, 8), hops - 1}; }
  /// As it is thrown to `to`: who may be gone when it comes passes nothing on, so that all else can be foretold.
  [[nodiscard]] Ball thrown_to(std::uint64_t to) const {
    return {chance, value, chance.fate(to) == Fate::is_ended ? 0 : hops};
  }
};

/// What an element sends in its own step.
std::vector<std::pair<std::uint64_t, Ball>> throws_of(const Chance& chance, std::uint64_t id) {
  std::vector<std::pair<std::uint64_t, Ball>> balls;
  const std::uint64_t start = draw(chance.seed, id);
  for (std::uint64_t i = 0; i < start % 6; ++i) {
    const std::uint64_t value = draw(start, i);
    balls.emplace_back(chance.anyone(value), Ball{chance, value, (value >> 60U) % 5});
  }
  return balls;
}

/// What elements of both sides have: the collection's and the model's.
struct Player {
  std::uint64_t taken = 0;
  std::uint64_t sum = 0;    ///< Of what was taken, in any order.
  std::uint64_t state = 1;  ///< Of inputs of steps and their order.
  std::map<std::uint64_t, std::uint64_t> told;
  std::map<std::uint64_t, std::uint64_t> heard;
  std::uint64_t first_number = 0;  ///< Of messages: larger in a second life.
  std::uint64_t mistakes = 0;
  std::string ballast;  ///< Of some, more than fits a packet.

  void take(ElementContext& context, std::uint64_t from, std::uint64_t number, const Ball& ball) {
    ++taken;
    sum += ball.value;
    mistakes += number > heard[from] ? 0U : 1U;
    heard[from] = number;
    if (ball.hops > 0) {
      throw_ball(context, ball.next(), ball.onwards());
    }
  }
  void throw_ball(ElementContext& context, std::uint64_t to, const Ball& ball) {
    context.send<&Player::take>(ElementId{to}, context.id().value(), first_number + ++told[to], ball.thrown_to(to));
  }
  void end(ElementContext& context) { context.erase(); }
  void step(std::uint64_t from, std::uint64_t value) { state = draw(state, from, value); }
  void hear_all(std::uint64_t value) { sum += value; }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(taken, sum, state, told, heard, first_number, mistakes, ballast);
  }
};

Player new_player(std::uint64_t id, std::uint64_t phase) {
  return {
      .told = {}, .heard = {}, .first_number = phase * family, .ballast = std::string(id % 4 == 0 ? 20'000 : 3, 'x')};
}

/// An element of another collection, in whose phases each sends the number of its messages to the next one.
struct Bystander {
  std::uint64_t sent = 0;
  std::uint64_t heard = 0;
  void hear(std::uint64_t number) { heard = number == heard + 1 ? number : 0; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(sent, heard);
  }
};
constexpr std::uint32_t bystanders = 9;

// ---- a plain program that does the same ----

struct Plain {
  std::uint64_t taken = 0;
  std::uint64_t sum = 0;
  std::uint64_t state = 1;
};

class Model {
 public:
  explicit Model(std::uint64_t first_count) {
    for (std::uint64_t id = 0; id < first_count; ++id) {
      players[id] = {};
    }
  }

  void begin(const Chance& chance) {
    chance_ = chance;
    sent = lost = 0;
    doubtful = 0;
    ending_.clear();
  }
  /// A message of another kind than balls.
  void send(std::uint64_t to) {
    ++sent;
    lost += players.contains(to) ? 0U : 1U;
  }
  void play(std::uint64_t to, const Ball& thrown) {
    const Ball ball = thrown.thrown_to(to);
    ++sent;
    const auto place = players.find(to);
    if (place == players.end() || ending_.contains(to)) {
      ++lost;
      return;
    }
    doubtful += chance_.fate(to) == Fate::is_ended && has_turns_ ? 1U : 0U;
    ++place->second.taken;
    place->second.sum += ball.value;
    if (ball.hops > 0) {
      play(ball.next(), ball.onwards());
    }
  }
  /// A phase in which elements throw balls, are made, and end.
  void each(const std::vector<std::pair<std::uint64_t, Ball>>& outside) {
    has_turns_ = true;
    const auto before = players;
    for (const auto& [id, player] : before) {
      if (chance_.fate(id) == Fate::has_child) {
        players[chance_.child_of(id, chance_.phase)] = {};
      } else if (chance_.fate(id) == Fate::ends_itself) {
        ending_.insert(id);
      }
    }
    for (const auto& [id, player] : before) {
      for (const auto& [to, ball] : throws_of(chance_, id)) {
        play(to, ball);
      }
    }
    for (const auto& [to, ball] : outside) {
      play(to, ball);
    }
    for (const auto& [id, player] : before) {
      if (chance_.fate(id) == Fate::is_ended) {
        sent += 2;  // is notified twice
        doubtful += 1;
        end(id);
      } else if (chance_.fate(id) == Fate::ends_itself) {
        end(id);
      }
    }
    has_turns_ = false;
  }
  void end(std::uint64_t id) {
    players.erase(id);
    ended[id] = chance_.phase;
  }
  [[nodiscard]] std::vector<std::uint64_t> ids() const {
    std::vector<std::uint64_t> all;
    for (const auto& [id, player] : players) {
      all.push_back(id);
    }
    return all;
  }

  std::map<std::uint64_t, Plain> players;
  std::map<std::uint64_t, std::uint64_t> ended;  ///< In which phase.
  std::uint64_t sent = 0;                        ///< In this phase.
  std::uint64_t lost = 0;
  std::uint64_t doubtful = 0;  ///< Taken, or lost when their element has ended before they came.

 private:
  Chance chance_;
  std::set<std::uint64_t> ending_;
  bool has_turns_ = false;
};

// ---- one game ----

struct Game {
  std::uint64_t seed;
  struct {
    std::uint32_t ranks = 1;
    std::uint32_t workers = 1;
  } layout;
  std::uint32_t elements;
  bool has_second_lives;  ///< Ids of elements that have ended are used again.
};

net::SimOptions weather(std::uint64_t seed) {
  return {.seed = seed,
          .delay_max = std::chrono::microseconds{draw(seed, 1) % 50},
          .order = seed % 2 == 0 ? net::SimOrder::free : net::SimOrder::kept_in_pair,
          .retry_probability = seed % 3 == 0 ? 0.2 : 0,
          .packet_bytes_max = seed % 5 == 0 ? 1024U : 8192U};
}

/// One rank's part of a game, and the model beside it.
class Play {
 public:
  Play(LocalRank& rank, const Game& game)
      : game_{game},
        ranks_{rank.rank_count()},
        model_{game.elements},
        players_{rank, Shape{game.elements}, [](ElementId id, Index) { return new_player(id.value(), 0); }},
        beside_{rank, Shape{bystanders}, [](ElementId, Index) { return Bystander{}; }, {.name = "bystanders"}} {}

  void run() {
    constexpr std::uint64_t phases = 7;
    for (std::uint64_t phase = 0; phase < phases && !testing::Test::HasFatalFailure(); ++phase) {
      chance_ = {.seed = draw(game_.seed, phase, 3), .phase = phase, .first_count = game_.elements};
      where_ = "seed " + std::to_string(game_.seed) + " phase " + std::to_string(phase);
      model_.begin(chance_);
      come_and_go();
      migrate(1);
      if (draw(chance_.seed, 11) % 3 == 0) {
        migrate(2);
      }
      come_in_from_outside();
      draw(chance_.seed, 12) % 3 == 0 ? iterate() : each();
      check_players();
      check_results();
    }
  }

  [[nodiscard]] std::uint64_t local_count() const { return players_.local_count(); }
  [[nodiscard]] std::uint64_t expected_count() const { return model_.players.size(); }

 private:
  [[nodiscard]] Rank rank_of(std::uint64_t value) const { return Rank{static_cast<std::uint32_t>(value % ranks_)}; }

  /// Between phases.
  void come_and_go() {
    const auto ended = model_.ended;
    for (const auto& [id, phase] : ended) {
      const std::uint64_t chance = draw(chance_.seed, id, 21);
      if (game_.has_second_lives && phase + 1 < chance_.phase && chance % 2 == 0) {
        model_.ended.erase(id);
        model_.players[id] = {};
        if (rank_of(chance >> 8U) == players_.self()) {
          players_.create(ElementId{id}, new_player(id, chance_.phase));
        }
      }
    }
    for (const std::uint64_t id : model_.ids()) {
      if (id != 0 && draw(chance_.seed, id, 22) % 24 == 0 && !ended.contains(id)) {
        model_.end(id);
        if (players_.find(ElementId{id}) != nullptr) {
          players_.erase(ElementId{id});
        }
      }
    }
  }

  void migrate(std::uint64_t time) {
    std::vector<Move> moves;
    for (const auto& [id, player] : players_.local()) {
      const std::uint64_t chance = draw(chance_.seed, id.value(), 99 + time);
      if (chance % 3 != 0) {
        moves.push_back({id, rank_of(chance >> 8U)});
      }
    }
    (void)players_.migrate(moves);
  }

  void come_in_from_outside() {
    for (std::uint64_t i = 0; i < draw(chance_.seed, 31) % 4; ++i) {
      const std::uint64_t value = draw(chance_.seed, 32, i);
      outside_.emplace_back(chance_.anyone(value), Ball{chance_, value, 0});
      if (rank_of(value >> 40U) == players_.self()) {
        players_.send<&Player::take>(
            ElementId{outside_.back().first}, family * family + i, chance_.phase + 1, outside_.back().second);
      }
    }
  }

  void each() {
    const std::vector<std::uint64_t> before = model_.ids();
    Phase phase = players_.start([&](Player& player, ElementContext& context) {
      const std::uint64_t id = context.id().value();
      if (chance_.fate(id) == Fate::has_child) {
        const std::uint64_t child = chance_.child_of(id, chance_.phase);
        context.create(ElementId{child}, new_player(child, 0));
      }
      for (const auto& [to, ball] : throws_of(chance_, id)) {
        player.throw_ball(context, to, ball);
      }
      if (chance_.fate(id) == Fate::ends_itself) {
        context.erase();
      }
      for (const std::uint64_t other : id == 0 ? before : std::vector<std::uint64_t>{}) {
        if (chance_.fate(other) == Fate::is_ended) {
          context.erase(ElementId{other});
          context.send<&Player::end>(ElementId{other});
        }
      }
    });
    meanwhile(phase);
    model_.each(std::exchange(outside_, {}));
    check_report(phase.wait());
  }

  /// What the program does while a phase is open: nothing, tests, or phases of another collection beside it.
  void meanwhile(Phase& phase) {
    const std::uint64_t chance = draw(chance_.seed, 71);
    if (chance % 4 == 0) {
      while (!phase.test()) {
      }
    }
    std::vector<Phase> open;
    for (std::uint64_t i = 0; i < (chance >> 8U) % 3; ++i) {
      open.clear();  // waits
      open.push_back(beside_.start([](Bystander& one, ElementContext& context) {
        context.send<&Bystander::hear>(ElementId{(context.id().value() + 1) % bystanders}, ++one.sent);
      }));
    }
    if (chance % 8 == 1) {
      open.clear();
      (void)beside_.migrate(std::vector<Move>{});
    }
    if (chance % 2 == 0) {
      (void)phase.is_over();
      return;  // the other phase ends before the players' one is waited for
    }
    later_ = std::move(open);
  }

  /// To whom `id` sends in `step` what they take in the next one.
  [[nodiscard]] std::vector<std::uint64_t> partners_of(const std::vector<std::uint64_t>& all,
                                                       std::uint64_t id,
                                                       std::uint64_t step) const {
    const std::uint64_t chance = draw(chance_.seed, id, 40 + step);
    std::vector<std::uint64_t> partners;
    for (std::uint64_t i = 0; i < chance % 4; ++i) {
      partners.push_back(all[draw(chance, i) % all.size()]);
    }
    return partners;
  }

  void iterate() {
    const std::vector<std::uint64_t> all = model_.ids();
    const std::uint64_t steps = 1 + draw(chance_.seed, 41) % 6;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> inputs;  // by id and step
    for (std::uint64_t step = 0; step + 1 < steps; ++step) {
      for (const std::uint64_t id : all) {
        for (const std::uint64_t partner : partners_of(all, id, step)) {
          ++inputs[{partner, step + 1}];
        }
      }
    }
    std::map<const Player*, std::uint64_t> ids;
    for (const auto& [id, player] : players_.local()) {
      ids[&player] = id.value();
    }
    const PhaseReport report = players_.iterate(
        steps,
        [&](const Player& player, std::uint64_t step) {
          const auto place = inputs.find({ids.at(&player), step});
          return place == inputs.end() ? 0U : place->second;
        },
        [&](Player& player, ElementContext& context, std::uint64_t step) {
          const std::uint64_t id = context.id().value();
          for (const std::uint64_t partner : partners_of(all, id, step)) {
            if (step + 1 < steps) {
              context.send_step<&Player::step>(ElementId{partner}, step + 1, id, player.state);
            }
          }
          const std::uint64_t value = draw(chance_.seed, id, 50 + step);
          player.throw_ball(context, chance_.anyone(value), Ball{chance_, value, 0});
        });
    model_iterate(all, steps);
    for (const auto& [to, ball] : std::exchange(outside_, {})) {
      model_.play(to, ball);
    }
    check_report(report);
    EXPECT_EQ(report.steps, steps * players_.local_count()) << where_;
  }

  void model_iterate(const std::vector<std::uint64_t>& all, std::uint64_t steps) {
    for (std::uint64_t step = 0; step < steps; ++step) {
      std::map<std::uint64_t, std::uint64_t> sent;  // of whom, what
      for (const std::uint64_t id : all) {
        sent[id] = model_.players[id].state;
        const std::uint64_t value = draw(chance_.seed, id, 50 + step);
        model_.play(chance_.anyone(value), Ball{chance_, value, 0});
      }
      for (const std::uint64_t id : all) {  // rising: so each takes from senders in their order
        for (const std::uint64_t partner : partners_of(all, id, step)) {
          if (step + 1 < steps) {
            model_.send(partner);
            Plain& player = model_.players[partner];
            player.state = draw(player.state, id, sent[id]);
          }
        }
      }
    }
  }

  void check_report(const PhaseReport& report) {
    std::array<std::uint64_t, 3> all{report.messages, report.lost_count, report.forwarded_again};
    comm::all_reduce(players_.group(), std::span{all}).wait();
    EXPECT_EQ(all[0] + all[1], model_.sent) << where_ << ": taken once, or reported as lost";
    EXPECT_GE(all[1], model_.lost) << where_;
    EXPECT_LE(all[1], model_.lost + model_.doubtful) << where_;
    if (!game_.has_second_lives) {
      EXPECT_EQ(all[2], 0U) << where_ << ": forwarded once at most";
    }
  }

  void check_players() {
    later_.clear();
    for (const auto& [id, one] : beside_.local()) {
      ASSERT_EQ(one.heard, one.sent) << where_;
    }
    for (const auto& [id, player] : players_.local()) {
      const auto place = model_.players.find(id.value());
      ASSERT_NE(place, model_.players.end()) << where_ << ": element " << id.value() << " should have ended";
      ASSERT_EQ(player.taken, place->second.taken) << where_ << " element " << id.value();
      ASSERT_EQ(player.sum, place->second.sum) << where_ << " element " << id.value();
      ASSERT_EQ(player.state, place->second.state) << where_ << " element " << id.value();
      ASSERT_EQ(player.mistakes, 0U) << where_ << ": order of a pair, element " << id.value();
    }
  }

  void check_results() {
    const auto& expected = model_.players;
    std::uint64_t sum = 0;
    std::map<std::uint64_t, std::uint64_t> sums;
    for (const auto& [id, player] : expected) {
      sums[id] = sum += player.sum;
    }
    const auto sum_of = [](const Player& player) { return player.sum; };
    ASSERT_EQ(players_.count(), expected.size()) << where_;
    ASSERT_EQ(players_.all_reduce(sum_of), sum) << where_;
    const std::vector<std::uint64_t> scanned = players_.scan(sum_of);
    ASSERT_EQ(scanned.size(), players_.local_count()) << where_;
    std::size_t place = 0;
    for (const auto& [id, player] : players_.local()) {
      ASSERT_EQ(scanned[place++], sums[id.value()]) << where_;
    }
    const Rank root = rank_of(draw(chance_.seed, 61));
    const auto all = players_.gather(root, sum_of);
    ASSERT_EQ(all.size(), root == players_.self() ? expected.size() : 0) << where_;
    for (const auto& [id, value] : all) {
      ASSERT_EQ(value, expected.at(id.value()).sum) << where_;
    }
    if (draw(chance_.seed, 62) % 2 == 0) {
      players_.broadcast<&Player::hear_all>(chance_.seed);
      for (auto& [id, player] : model_.players) {
        player.sum += chance_.seed;
      }
      check_players();
    }
  }

  const Game game_;
  const std::uint64_t ranks_;
  Chance chance_;
  std::string where_;
  Model model_;
  Collection<Player> players_;
  Collection<Bystander> beside_;
  std::vector<Phase> later_;
  std::vector<std::pair<std::uint64_t, Ball>> outside_;
};

void play_game(const Game& game) {
  std::atomic<std::uint64_t> seen = 0;
  std::atomic<std::uint64_t> expected = 0;
  run_on_ranks({.ranks = game.layout.ranks, .network = weather(game.seed)},
               {.worker_count = game.layout.workers},
               [&](LocalRank& rank) {
                 Play play{rank, game};
                 play.run();
                 seen += play.local_count();
                 expected = play.expected_count();
               });
  EXPECT_EQ(seen, expected) << "seed " << game.seed;
}

/// How many games are played: more for a long test, by the environment.
std::uint64_t game_count() {
  const char* const wanted = std::getenv("PLAIT_TEST_SEEDS");
  return wanted == nullptr ? 24 : std::strtoull(wanted, nullptr, 10);
}

TEST(RandomCollections, do_what_a_plain_program_does_wherever_elements_are) {
  for (std::uint64_t seed = 1; seed <= game_count() && !HasFailure(); ++seed) {
    const auto ranks = static_cast<std::uint32_t>(1 + draw(seed, 2) % 5);
    play_game({.seed = seed,
               .layout = {.ranks = ranks, .workers = static_cast<std::uint32_t>(1 + seed % 2)},
               .elements = static_cast<std::uint32_t>(1 + draw(seed, 3) % 40),
               .has_second_lives = seed % 4 == 0});
  }
}

}  // namespace
}  // namespace plait::data::random_collection_test
