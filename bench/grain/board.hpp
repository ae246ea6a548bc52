// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "grain/pattern.hpp"

namespace grain {

/// The output of a task, which its readers check.
struct Output {
  std::uint64_t step = 0;
  std::uint64_t point = 0;
  friend bool operator==(const Output&, const Output&) = default;
};

/// The points of one rank, and the number of steps after which memory is reused.
struct Shape {
  Pattern pattern = Pattern::stencil;
  std::size_t rank = 0;
  std::size_t rank_count = 1;
  std::size_t points_per_rank = 4;
  std::size_t window = 1;  ///< Steps; a multiple of the pattern's period.

  [[nodiscard]] std::size_t width() const { return rank_count * points_per_rank; }
  [[nodiscard]] std::size_t first() const { return rank * points_per_rank; }
  [[nodiscard]] std::size_t owner(std::size_t point) const { return point / points_per_rank; }
  [[nodiscard]] bool is_mine(std::size_t point) const { return owner(point) == rank; }
  /// The points that `point` reads in `place`, of the place before.
  [[nodiscard]] std::vector<std::size_t> inputs(std::size_t place, std::size_t point) const {
    return grain::inputs(pattern, width(), place, point);
  }
};

/// A point whose output is sent to another rank, or received from it.
struct Message {
  std::size_t point = 0;
  std::size_t peer = 0;
};

/// The outputs of a window of steps, both of this rank and received ones, and the tasks on them.
///
/// A step's place in the window reads the place before it; the first place reads the last one, of the previous window.
/// Threads: several may work on different points; the caller orders dependent tasks.
class Board {
 public:
  explicit Board(const Shape& shape);

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  /// The outputs of `place` that this rank sends, and those that it receives for the next place; each once.
  [[nodiscard]] const std::vector<Message>& sent(std::size_t place) const { return places_[place].sent; }
  [[nodiscard]] const std::vector<Message>& received(std::size_t place) const { return places_[place].received; }
  /// The memory of a point's output.
  [[nodiscard]] std::span<std::byte> bytes(std::size_t place, std::size_t point);

  /// Resets all outputs, and starts at step 0.
  void begin();
  /// Starts the next window, which continues the count of steps.
  void next_window() { base_ += shape_.window; }
  /// Runs one task: checks its inputs, computes for `computation` steps, and writes its output.
  void work(std::size_t place, std::size_t point, std::uint64_t computation) noexcept;
  /// Whether each task of `windows` windows has run exactly once, with the right inputs.
  [[nodiscard]] bool is_right(std::size_t windows) const;

 private:
  struct alignas(64) Cell {  // a cache line each: several workers write
    Output output;
    std::uint64_t runs = 0;
  };
  struct Place {
    std::vector<Message> sent;
    std::vector<Message> received;
    std::vector<std::vector<std::size_t>> inputs;  ///< By point of this rank.
  };

  [[nodiscard]] Place describe(std::size_t place) const;
  [[nodiscard]] std::size_t before(std::size_t place) const { return (place + shape_.window - 1) % shape_.window; }
  [[nodiscard]] Cell& cell(std::size_t place, std::size_t point) { return cells_[place * shape_.width() + point]; }

  Shape shape_;
  std::vector<Place> places_;
  std::vector<Cell> cells_;
  std::uint64_t base_ = 0;
  std::atomic<std::uint64_t> wrong_inputs_ = 0;
};

}  // namespace grain
