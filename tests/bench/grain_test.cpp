// SPDX-License-Identifier: Apache-2.0
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "grain/board.hpp"
#include "grain/pattern.hpp"
#include "grain/plait_steps.hpp"

namespace grain_test {
namespace {

using grain::Board;
using grain::Pattern;
using grain::Shape;
using Points = std::vector<std::size_t>;

constexpr Shape one_rank{.pattern = Pattern::stencil, .rank = 0, .rank_count = 1, .points_per_rank = 4, .window = 4};

/// All tasks of a window, in order.
void work(Board& board) {
  for (std::size_t place = 0; place < board.shape().window; ++place) {
    for (std::size_t point = 0; point < board.shape().width(); ++point) {
      board.work(place, point, 0);
    }
  }
  board.next_window();
}

TEST(GrainPattern, names_the_inputs_of_a_point) {
  EXPECT_EQ(grain::inputs(Pattern::stencil, 8, 3, 0), (Points{0, 1}));
  EXPECT_EQ(grain::inputs(Pattern::stencil, 8, 3, 4), (Points{3, 4, 5}));
  EXPECT_EQ(grain::inputs(Pattern::nearest, 8, 3, 6), (Points{4, 5, 6, 7}));
  EXPECT_EQ(grain::inputs(Pattern::fft, 8, 1, 4), (Points{2, 4, 6}));
  EXPECT_EQ(grain::inputs(Pattern::fft, 8, 2, 1), (Points{1, 5}));
  EXPECT_EQ(grain::inputs(Pattern::spread, 8, 1, 0), (Points{0, 2, 4, 5, 7}));
  EXPECT_EQ(grain::inputs(Pattern::all_to_all, 4, 0, 2), (Points{0, 1, 2, 3}));
}

TEST(GrainPattern, repeats_after_its_period) {
  for (const Pattern pattern : grain::patterns) {
    for (std::size_t step = 0; step < grain::period(8); ++step) {
      EXPECT_EQ(grain::inputs(pattern, 8, step, 3), grain::inputs(pattern, 8, step + grain::period(8), 3));
    }
  }
}

TEST(GrainBoard, accepts_every_task_once_and_in_order) {
  Board board{one_rank};
  work(board);
  work(board);
  EXPECT_TRUE(board.is_right(2));
}

TEST(GrainBoard, detects_a_task_that_ran_before_its_input) {
  Board board{one_rank};
  board.work(1, 0, 0);
  board.work(0, 0, 0);
  EXPECT_FALSE(board.is_right(1));
}

TEST(GrainBoard, detects_a_task_that_did_not_run) {
  Board board{one_rank};
  work(board);
  EXPECT_FALSE(board.is_right(2));
}

TEST(GrainBoard, sends_what_the_other_rank_receives) {
  for (const Pattern pattern : grain::patterns) {
    Shape shape{.pattern = pattern, .rank = 0, .rank_count = 2, .points_per_rank = 4, .window = grain::period(8)};
    const Board left{shape};
    shape.rank = 1;
    const Board right{shape};
    for (std::size_t place = 0; place < shape.window; ++place) {
      Points sent;
      Points received;
      for (const grain::Message& message : left.sent(place)) {
        sent.push_back(message.point);
      }
      for (const grain::Message& message : right.received(place)) {
        received.push_back(message.point);
      }
      EXPECT_EQ(sent, received) << grain::name_of(pattern) << ", place " << place;
    }
  }
}

TEST(GrainSteps, give_every_task_its_inputs_on_two_ranks) {
  for (const Pattern pattern : grain::patterns) {
    plait::net::LoopbackNetwork network{2};
    std::vector<std::jthread> ranks;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      ranks.emplace_back([&network, pattern, rank] {
        plait::Runtime runtime{network.driver(plait::Rank{rank}), {.worker_count = 2}};
        Board board{
            {.pattern = pattern, .rank = rank, .rank_count = 2, .points_per_rank = 4, .window = grain::period(8)}};
        grain::PlaitSteps steps{runtime, board};
        steps.run(3, 0);
        EXPECT_TRUE(board.is_right(3)) << grain::name_of(pattern);
      });
    }
  }
}

}  // namespace
}  // namespace grain_test
