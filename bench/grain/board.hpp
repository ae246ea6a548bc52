// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "grain/pattern.hpp"

namespace grain {

/// What a task puts out, and its readers check.
struct Output {
  std::uint64_t step = 0;
  std::uint64_t point = 0;
  friend bool operator==(const Output&, const Output&) = default;
};

/// Points of one rank of two or more, and the steps after which places are used again.
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

/// A point whose output goes to another rank, or comes from it.
struct Message {
  std::size_t point = 0;
  std::size_t peer = 0;
};

/// The outputs of a window of steps, those of this rank and those that come from others; and what runs on them.
///
/// The task of a step in a place of the window reads the place before, and the first place reads the last one, of the
/// window before. Threads: several may work on different points; what orders them is the caller's matter.
class Board {
 public:
  explicit Board(const Shape& shape);

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  /// What this rank sends after `place`, and what it needs from others for the place after; each once.
  [[nodiscard]] const std::vector<Message>& sent(std::size_t place) const { return places_[place].sent; }
  [[nodiscard]] const std::vector<Message>& received(std::size_t place) const { return places_[place].received; }
  /// The offset of a point's output.
  [[nodiscard]] std::span<std::byte> bytes(std::size_t place, std::size_t point);

  /// Forgets all outputs. What follows is from step 0 on.
  void begin();
  /// The next window's steps follow those of the one before.
  void next_window() { base_ += shape_.window; }
  /// One task: checks what it reads, computes so many steps, puts out.
  void work(std::size_t place, std::size_t point, std::uint64_t computation) noexcept;
  /// Whether each task of so many windows has run exactly once, with the right inputs.
  [[nodiscard]] bool is_right(std::size_t windows) const;

 private:
  struct alignas(64) Cell {  // a line each: several workers write
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
