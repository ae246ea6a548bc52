// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include <mpi.h>

#include "grain/board.hpp"

namespace grain {

/// The steps in plain MPI. Receives are posted before the tasks; tasks whose output another rank needs come first, and
/// each output is sent at once; the wait comes last.
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
  /// Messages of one point match in the order of its steps.
  static int tag(const Message& message) { return static_cast<int>(message.point); }

  Board& board_;
  std::vector<std::vector<Turn>> order_;
  std::vector<MPI_Request> requests_;
};

}  // namespace grain
