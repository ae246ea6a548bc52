// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include <mpi.h>

#include "plait/plait.hpp"

#include "grain/board.hpp"

namespace grain {

/// The steps in plain MPI: receives are posted before the tasks, each output leaves at once, tasks whose output is
/// awaited elsewhere come first, and only then comes the wait.
class MpiSteps {
 public:
  explicit MpiSteps(Board& board) : board_{board}, order_(board.shape().window) {
    for (std::size_t place = 0; place < board.shape().window; ++place) {
      for (std::size_t i = 0; i < board.shape().points_per_rank; ++i) {
        order_[place].push_back({.point = board.shape().first() + i, .sent = {}});
      }
      for (const Message& message : board.sent(place)) {
        order_[place][message.point - board.shape().first()].sent.push_back(message);
      }
      std::ranges::stable_sort(order_[place], {}, [](const Turn& turn) { return turn.sent.empty(); });
    }
  }

  void run(std::size_t windows, std::uint64_t computation) {
    for (std::size_t window = 0; window < windows; ++window) {
      for (std::size_t place = 0; place < board_.shape().window; ++place) {
        step(place, computation);
      }
      board_.next_window();
    }
  }

 private:
  struct Turn {
    std::size_t point = 0;
    std::vector<Message> sent;
  };

  void step(std::size_t place, std::uint64_t computation) {
    requests_.clear();
    for (const Message& message : board_.received(place)) {
      const std::span<std::byte> buffer = board_.bytes(place, message.point);
      MPI_Irecv(buffer.data(), length(buffer), MPI_BYTE, peer(message), tag(message), MPI_COMM_WORLD, next_request());
    }
    for (const Turn& turn : order_[place]) {
      board_.work(place, turn.point, computation);
      for (const Message& message : turn.sent) {
        const std::span<const std::byte> data = board_.bytes(place, turn.point);
        MPI_Isend(data.data(), length(data), MPI_BYTE, peer(message), tag(message), MPI_COMM_WORLD, next_request());
      }
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

  [[nodiscard]] MPI_Request* next_request() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
  static int length(std::span<const std::byte> bytes) { return static_cast<int>(bytes.size()); }
  static int peer(const Message& message) { return static_cast<int>(message.peer); }
  /// Messages of one point arrive in the order of its steps.
  static int tag(const Message& message) { return static_cast<int>(message.point); }

  Board& board_;
  std::vector<std::vector<Turn>> order_;
  std::vector<MPI_Request> requests_;
};

/// The steps as a graph of one window, which is run again and again.
class PlaitSteps {
 public:
  PlaitSteps(plait::Runtime& runtime, Board& board) : runtime_{runtime}, board_{board} {
    const std::size_t window = board.shape().window;
    tasks_.resize(window, std::vector<plait::Task>(board.shape().width()));
    for (std::size_t place = 0; place < window; ++place) {
      add_tasks(place);
      add_messages(place);
    }
    // The last place is written again only when the first one has read what the run before has left there.
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
  std::vector<std::vector<plait::Task>> tasks_;  ///< What makes the output of a point: a task or a receive.
  std::uint64_t computation_ = 0;
};

}  // namespace grain
