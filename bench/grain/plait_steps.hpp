// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "plait/plait.hpp"

#include "grain/board.hpp"

namespace grain {

/// The steps as a graph of one window, which is run repeatedly.
class PlaitSteps {
 public:
  PlaitSteps(plait::Runtime& runtime, Board& board) : runtime_{runtime}, board_{board} {
    const std::size_t window = board.shape().window;
    tasks_.resize(window, std::vector<plait::Task>(board.shape().width()));
    for (std::size_t place = 0; place < window; ++place) {
      add_tasks(place);
      add_messages(place);
    }
    // The last place is written again only when the first one has read the previous run's value.
    for (std::size_t point = 0; point < board.shape().width(); ++point) {
      if (board.shape().is_mine(point)) {
        for (const std::size_t input : board.shape().inputs(0, point)) {
          tasks_[window - 1][input].after(tasks_[0][point]);
        }
      }
    }
  }

  void run(std::size_t windows, std::uint64_t computation) {
    computation_ = computation;
    for (std::size_t window = 0; window < windows; ++window) {
      runtime_.run(graph_);
      board_.next_window();
    }
  }

 private:
  void add_tasks(std::size_t place) {
    const Shape& shape = board_.shape();
    for (std::size_t point = shape.first(); point < shape.first() + shape.points_per_rank; ++point) {
      plait::Task task = graph_.task("compute", [this, place, point] { board_.work(place, point, computation_); });
      for (const std::size_t input : shape.inputs(place, point)) {
        if (place > 0) {
          task.after(tasks_[place - 1][input]);
        }
      }
      tasks_[place][point] = task;
    }
  }

  void add_messages(std::size_t place) {
    for (const Message& message : board_.sent(place)) {
      graph_
          .send("send",
                address(place, message),
                [this, place, point = message.point] { return std::span<const std::byte>{board_.bytes(place, point)}; })
          .after(tasks_[place][message.point]);
    }
    for (const Message& message : board_.received(place)) {
      tasks_[place][message.point] =
          graph_.receive("receive", address(place, message), board_.bytes(place, message.point));
    }
  }

  [[nodiscard]] plait::Address address(std::size_t place, const Message& message) const {
    return {plait::Rank{static_cast<std::uint32_t>(message.peer)},
            plait::Tag{place * board_.shape().width() + message.point}};
  }

  plait::Runtime& runtime_;
  Board& board_;
  plait::Graph graph_;
  std::vector<std::vector<plait::Task>> tasks_;  ///< The task or receive that writes a point's output.
  std::uint64_t computation_ = 0;
};

}  // namespace grain
