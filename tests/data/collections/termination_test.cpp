// SPDX-License-Identifier: Apache-2.0
// The end of a phase is found once nothing is on its way, not before, and with few notes.
#include "plait/data/collections/detail/termination.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/random.hpp"

namespace plait::data::detail::termination_test {
namespace {

/// Ranks that write to each other at random, a step at a time; notes and messages of a pair keep their order.
class World {
 public:
  World(std::uint32_t ranks, std::uint64_t seed) : random_{seed}, phases_(ranks, 0), counts_(ranks), idle_(ranks) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      ranks_.push_back(
          std::make_unique<Termination>(Rank{rank}, ranks, [this, rank](Rank to, const Termination::Note& note) {
            EXPECT_FALSE(ranks_[rank]->is_over()) << "a rank whose phase is over may block elsewhere, and has sent all";
            notes_[{rank, to.value()}].push_back(note);
            ++note_count;
          }));
    }
  }

  /// Plays a phase in which messages beget others until `messages` have been sent.
  void play(std::uint64_t phase, std::uint64_t messages) {
    to_send_ = messages;
    while (std::ranges::any_of(phases_, [&](std::uint64_t reached) { return reached < phase; }) || !all_over()) {
      const auto rank = static_cast<std::uint32_t>(random_.below(ranks_.size()));
      if (phases_[rank] < phase) {
        phases_[rank] = phase;
        ranks_[rank]->begin(phase);
        idle_[rank] = false;
      }
      act(rank);
      if (ranks_[rank]->is_over()) {
        ASSERT_EQ(to_send_, 0U) << "a rank had still to send";
        ASSERT_EQ(under_way_, 0U) << "a message was on its way";
      }
      ASSERT_LT(++steps_, 1'000'000U) << "no end is found";
    }
  }

  std::uint64_t note_count = 0;

 private:
  [[nodiscard]] bool all_over() const {
    return std::ranges::all_of(ranks_, [](const auto& rank) { return rank->is_over(); });
  }
  /// A note or a message comes, or the rank sends while it has something to do, or reports that it has not.
  void act(std::uint32_t rank) {
    const auto source = static_cast<std::uint32_t>(random_.below(ranks_.size()));
    if (auto& notes = notes_[{source, rank}]; !notes.empty()) {
      ranks_[rank]->take(Rank{source}, std::exchange(notes.front(), {}));
      notes.pop_front();
    }
    if (auto& messages = messages_[{source, rank}]; messages > 0 && random_.happens(0.5)) {
      --messages;
      --under_way_;
      ++counts_[rank].handled;
      idle_[rank] = false;
    }
    if (!idle_[rank] && to_send_ > 0) {
      const std::uint64_t count = std::min<std::uint64_t>(to_send_, random_.below(3));
      for (std::uint64_t i = 0; i < count; ++i) {
        ++messages_[{rank, static_cast<std::uint32_t>(random_.below(ranks_.size()))}];
      }
      counts_[rank].sent += count;
      under_way_ += count;
      to_send_ -= count;
    }
    // As long as messages shall be sent, a rank has to be busy: the last one of all is.
    idle_[rank] = to_send_ == 0 || under_way_ > 0;
    if (idle_[rank] && !ranks_[rank]->is_over()) {
      ranks_[rank]->quiet(counts_[rank]);
    }
  }

  Random random_;
  std::vector<std::unique_ptr<Termination>> ranks_;
  std::vector<std::uint64_t> phases_;
  std::vector<Counts> counts_;
  std::vector<bool> idle_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<Termination::Note>> notes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> messages_;
  std::uint64_t to_send_ = 0;
  std::uint64_t under_way_ = 0;
  std::uint64_t steps_ = 0;
};

TEST(Termination, ends_a_phase_when_nothing_is_on_its_way_and_not_before) {
  for (std::uint64_t seed = 1; seed <= 60 && !testing::Test::HasFatalFailure(); ++seed) {
    Random random{seed};
    World world{static_cast<std::uint32_t>(1 + random.below(12)), seed};
    for (std::uint64_t phase = 1; phase <= 4; ++phase) {
      world.play(phase, random.below(60));
    }
  }
}

TEST(Termination, tells_each_other_rank_two_notes_when_nothing_was_sent) {
  for (const std::uint32_t ranks : {1U, 2U, 6U, 30U}) {
    World world{ranks, 5};
    for (std::uint64_t phase = 1; phase <= 3; ++phase) {
      world.play(phase, 0);
    }
    EXPECT_EQ(world.note_count, 3U * 2 * (ranks - 1)) << "a count up and an end down, for each";
  }
}

}  // namespace
}  // namespace plait::data::detail::termination_test
