// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collection.hpp"

#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "task/flow/flow_ranks.hpp"

namespace plait::data {
namespace {

using task::test::FlowRank;
using task::test::run_ranks;

/// Remembers in which order it has been told what.
struct Ear {
  std::uint64_t id = 0;
  std::uint64_t heard = 0;
  std::uint64_t sum = 0;
  std::array<std::uint32_t, 4> last{};  ///< By distance of who tells.
  bool is_in_order = true;

  void hear(std::uint32_t distance, std::uint32_t number) {
    ++heard;
    sum += number;
    is_in_order = is_in_order && number > last[distance];
    last[distance] = number;
  }
};

constexpr std::uint32_t told_each = 5;

void tell_others(Ear& ear, Turn& turn, std::uint64_t count, std::uint32_t phase) {
  for (std::uint32_t number = 1; number <= told_each; ++number) {
    for (std::uint32_t distance = 1; distance < 4; ++distance) {
      turn.send<&Ear::hear>(ElementId{(ear.id + distance) % count}, distance, phase * told_each + number);
    }
  }
}

struct Layout {
  std::uint32_t ranks;
  std::uint32_t workers;
  std::uint64_t elements;
};

class Collections : public testing::TestWithParam<Layout> {};

TEST_P(Collections, take_each_message_once_and_in_order_while_elements_move) {
  const Layout layout = GetParam();
  constexpr std::uint32_t phases = 12;
  run_ranks(layout.ranks, {.worker_count = layout.workers}, [&](FlowRank& rank) {
    Collection<Ear> ears{rank, Shape{static_cast<std::uint32_t>(layout.elements)}, [](ElementId id, Index) {
                           return Ear{.id = id.value()};
                         }};
    for (std::uint32_t phase = 0; phase < phases; ++phase) {
      const PhaseReport report =
          ears.each([&](Ear& ear, Turn& turn) { tell_others(ear, turn, layout.elements, phase); }, "tell");
      EXPECT_EQ(report.turns, ears.local_count());
      EXPECT_EQ(report.lost_count, 0U);
      std::vector<Move> moves;
      for (const auto& [id, ear] : ears.local()) {
        ASSERT_EQ(id.value(), ear.id);
        ASSERT_EQ(ear.heard, (phase + 1) * told_each * 3U) << "none lost, none doubled";
        ASSERT_TRUE(ear.is_in_order);
        moves.push_back({id, Rank{static_cast<std::uint32_t>((id.value() * 7 + phase * 5) % layout.ranks)}});
      }
      const MigrationReport migration = ears.migrate(moves);
      EXPECT_LE(migration.sent, moves.size());
      for (const auto& [id, ear] : ears.local()) {
        EXPECT_EQ((id.value() * 7 + phase * 5) % layout.ranks, rank.self().value());
        EXPECT_EQ(ears.find(id), &ear);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(
    Layouts,
    Collections,
    testing::Values(Layout{1, 1, 7}, Layout{1, 3, 20}, Layout{2, 2, 16}, Layout{4, 1, 30}, Layout{7, 1, 5}),
    [](const auto& its) {
      return std::to_string(its.param.ranks) + "_ranks_" + std::to_string(its.param.workers) + "_workers_" +
             std::to_string(its.param.elements) + "_elements";
    });

/// Passes a message on until it has gone round.
struct Runner {
  std::uint64_t passed = 0;
  void pass(Turn& turn, std::uint64_t left) {
    ++passed;
    if (left > 1) {
      turn.send<&Runner::pass>(ElementId{(turn.id().value() + 1) % turn.shape().count()}, left - 1);
    }
  }
};

TEST(Collection, ends_a_phase_when_what_messages_have_set_off_has_ended) {
  run_ranks(3, {.worker_count = 2}, [](FlowRank& rank) {
    Collection<Runner> runners{rank, Shape{10}, [](ElementId, Index) { return Runner{}; }};
    if (rank.self() == Rank{1}) {
      runners.send<&Runner::pass>(ElementId{9}, std::uint64_t{1000});
    }
    runners.each([](Runner&) {});
    for (const auto& [id, runner] : runners.local()) {
      EXPECT_EQ(runner.passed, 100U) << id.value();
    }
  });
}

TEST(Collection, works_beside_another_on_the_same_ranks) {
  run_ranks(2, {.worker_count = 1}, [](FlowRank& rank) {
    Collection<Runner> first{rank, Shape{4}, [](ElementId, Index) { return Runner{}; }};
    Collection<Runner> second{rank, Shape{2, 3}, [](ElementId, Index) { return Runner{}; }};
    first.each([](Runner&, Turn& turn) { turn.send<&Runner::pass>(ElementId{0}, std::uint64_t{2}); });
    second.each([](Runner&, Turn& turn) { turn.send<&Runner::pass>(ElementId{5}, std::uint64_t{1}); });
    if (Runner* const runner = first.find(ElementId{1})) {
      EXPECT_EQ(runner->passed, 4U);
    }
    if (Runner* const runner = second.find(ElementId{5})) {
      EXPECT_EQ(runner->passed, 6U);
    }
  });
}

}  // namespace
}  // namespace plait::data
