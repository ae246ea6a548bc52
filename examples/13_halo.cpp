// SPDX-License-Identifier: Apache-2.0
// ranks: 4
// A stencil on a periodic grid of 2 x 2 ranks, which put the edges of their blocks into the halos of their neighbours.
// Halos are exposed once. No rank posts a receive.
#include <array>
#include <cstddef>
#include <iostream>
#include <span>
#include <vector>

#include "plait/plait.hpp"

namespace {

constexpr std::size_t n = 32;  ///< Cells of a block in each direction.
constexpr std::size_t steps = 100;

enum Side : std::size_t { left, right, above, below };
constexpr std::array sides{left, right, above, below};
constexpr std::array opposite{right, left, below, above};
using Line = std::array<double, n>;

double first_value(std::size_t row, std::size_t column) {
  return static_cast<double>((row * 7 + column * 13) % 31);
}

double average(double left_of, double right_of, double above_of, double below_of) {
  return 0.25 * (left_of + right_of + above_of + below_of);
}

/// The whole grid after all steps, by one rank.
std::vector<double> sequential_result() {
  constexpr std::size_t m = 2 * n;
  std::vector<double> cells(m * m);
  for (std::size_t i = 0; i < m * m; ++i) {
    cells[i] = first_value(i / m, i % m);
  }
  for (std::size_t step = 0; step < steps; ++step) {
    const std::vector<double> old = cells;
    const auto at = [&old](std::size_t row, std::size_t column) { return old[row % m * m + column % m]; };
    for (std::size_t i = 0; i < m * m; ++i) {
      const std::size_t row = i / m + m;
      const std::size_t column = i % m + m;
      cells[i] = average(at(row, column - 1), at(row, column + 1), at(row - 1, column), at(row + 1, column));
    }
  }
  return cells;
}

/// The edge of a neighbour's block, which that neighbour writes. A step reads one line while the neighbour may already
/// write the other: it comes no further, because its next step waits for this rank's edge.
struct Halo {
  std::array<Line, 2> lines{};
  plait::ExposedMemory memory;
};

/// A rank's part of the grid.
class Block {
 public:
  explicit Block(plait::comm::Endpoint& messages) : messages_{messages} {
    const std::size_t self = messages.self().value();
    row_ = self / 2;
    column_ = self % 2;
    for (std::size_t i = 0; i < n * n; ++i) {
      cells_[i] = first_value(row_ * n + i / n, column_ * n + i % n);
    }
    std::array<plait::MemoryKey, 4> mine;
    std::vector<plait::Request> requests;
    for (const Side side : sides) {
      halos_[side].memory = plait::ExposedMemory{messages, std::as_writable_bytes(std::span{halos_[side].lines})};
      mine[side] = halos_[side].memory.key();
      const plait::Rank neighbour = neighbour_at(side);
      requests.push_back(messages.receive({neighbour, plait::Tag{opposite[side]}},
                                          std::as_writable_bytes(std::span{&theirs_[side], 1})));
      requests.push_back(messages.send({neighbour, plait::Tag{side}}, std::as_bytes(std::span{&mine[side], 1})));
    }
    for (plait::Request& request : requests) {
      request.wait();
    }
  }

  void step(std::size_t number) {
    std::array<plait::Request, 4> puts;
    for (const Side side : sides) {
      edges_[side] = edge(side);
      const std::size_t offset = number % 2 * sizeof(Line);
      puts[side] = plait::put(messages_, theirs_[side], offset, std::as_bytes(std::span{edges_[side]}));
    }
    for (const Side side : sides) {
      halos_[side].memory.wait(number + 1);  // one put of each step is in place
    }
    const std::array<double, n * n> old = cells_;
    const auto halo = [&](Side side, std::size_t at) { return halos_[side].lines[number % 2][at]; };
    for (std::size_t row = 0; row < n; ++row) {
      for (std::size_t column = 0; column < n; ++column) {
        const std::size_t i = row * n + column;
        cells_[i] = average(column > 0 ? old[i - 1] : halo(left, row),
                            column + 1 < n ? old[i + 1] : halo(right, row),
                            row > 0 ? old[i - n] : halo(above, column),
                            row + 1 < n ? old[i + n] : halo(below, column));
      }
    }
    for (plait::Request& request : puts) {
      request.wait();  // before the next step changes the edges
    }
  }

  [[nodiscard]] std::size_t different_from(const std::vector<double>& whole) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < n * n; ++i) {
      count += cells_[i] == whole[(row_ * n + i / n) * 2 * n + column_ * n + i % n] ? 0 : 1;
    }
    return count;
  }

 private:
  [[nodiscard]] plait::Rank neighbour_at(Side side) const {
    const bool is_beside = side == left || side == right;
    return plait::Rank{static_cast<std::uint32_t>(is_beside ? row_ * 2 + 1 - column_ : (1 - row_) * 2 + column_)};
  }

  [[nodiscard]] Line edge(Side side) const {
    Line line;
    for (std::size_t i = 0; i < n; ++i) {
      const std::array<std::size_t, 4> at{i * n, i * n + n - 1, i, (n - 1) * n + i};
      line[i] = cells_[at[side]];
    }
    return line;
  }

  plait::comm::Endpoint& messages_;
  std::size_t row_ = 0;
  std::size_t column_ = 0;
  std::array<double, n * n> cells_{};
  std::array<Line, 4> edges_{};
  std::array<plait::MemoryKey, 4> theirs_;
  std::array<Halo, 4> halos_;
};

}  // namespace

int main(int argc, char** argv) {
  const plait::MpiSession mpi{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};
  Block block{runtime.messages()};
  for (std::size_t number = 0; number < steps; ++number) {
    block.step(number);
  }
  std::array<std::size_t, 1> different{block.different_from(sequential_result())};
  plait::all_reduce(plait::Group{runtime.messages()}, std::span{different}).wait();
  if (runtime.self() == plait::Rank{0}) {
    std::cout << 4 * n * n << " cells, " << steps << " steps: " << different[0]
              << " differ from the sequential result\n";
  }
}
