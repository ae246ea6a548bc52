// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "plait/plait.hpp"

#include "cholesky/layout.hpp"

namespace cholesky {

/// Counts and times the tile tasks of one rank. Threads: any.
class TileWork {
 public:
  using Clock = std::chrono::steady_clock;

  /// `on_task`, if set, is called after each task, by the worker that ran it, with the number of tasks done so far.
  explicit TileWork(std::function<void(std::uint64_t)> on_task = {}) : on_task_{std::move(on_task)} {}

  /// Calls `kernel(arguments...)`, and counts it.
  template <class Kernel, class... Arguments>
  void measure(const Kernel& kernel, const Arguments&... arguments) {
    const Clock::time_point begin = Clock::now();
    kernel(arguments...);
    const std::chrono::nanoseconds took = Clock::now() - begin;
    busy_.fetch_add(took.count(), std::memory_order_relaxed);  // read when the workers are idle
    const std::uint64_t done = tasks_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (on_task_) {
      on_task_(done);
    }
  }

  [[nodiscard]] std::uint64_t tasks() const noexcept { return tasks_.load(std::memory_order_relaxed); }
  /// Summed over workers.
  [[nodiscard]] std::chrono::nanoseconds busy() const noexcept {
    return std::chrono::nanoseconds{busy_.load(std::memory_order_relaxed)};
  }

 private:
  std::function<void(std::uint64_t)> on_task_;
  std::atomic<std::uint64_t> tasks_ = 0;
  std::atomic<std::int64_t> busy_ = 0;
};

/// A task on tile (row, column) in step `step`, which factors tile (step, step).
struct TaskPlace {
  std::size_t row = 0;
  std::size_t column = 0;
  std::size_t step = 0;
};
/// The length of the longest path from a task to the end of the graph, in tasks: the remaining tasks on its tile, and
/// three for each later step (a solve, an update, the next factorisation).
[[nodiscard]] int priority(const Layout& layout, const TaskPlace& place);

/// Tiles of a column or row, below or right of a tile, by whose tasks it is read; empty when `first` is `end`.
struct Readers {
  std::size_t first = 0;
  std::size_t end = 0;
  std::size_t other = 0;  ///< Their column, or their row.
};

/// A tile and how a task accesses it.
template <class Access>
struct TileAccess {
  Access access;
  std::size_t rows;
  std::size_t columns;
};

/// The flow of a factorisation, over the tiles of its matrix. Counts and times the tasks. Borrows its arguments.
///
/// With `Submission::own_tasks`, a rank goes through the rows and columns in which it has tiles, so that its part of
/// the program is as long as its work.
class TileFlow {
 public:
  /// `local`: this rank's tiles, whose memory holds the matrix.
  TileFlow(
      plait::Flow& flow, const Layout& layout, const LocalTiles& local, plait::Submission submission, TileWork& work);

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] plait::FlowKind kind(const char* name) const { return flow_.kind(name); }
  /// Returns the rows of tiles, from `first` on, in which this rank submits tasks; `columns` likewise. It submits the
  /// tasks on all tiles of these rows in these columns.
  [[nodiscard]] auto rows(std::size_t first) const { return grid_.rows_of(place_, narrow(first), data_.rows()); }
  [[nodiscard]] auto columns(std::size_t first) const {
    return grid_.columns_of(place_, narrow(first), data_.columns());
  }
  /// Whether this rank submits tasks on the tiles of a row; of a column likewise.
  [[nodiscard]] bool has_row(std::size_t row) const { return row % grid_.rows == place_.value() / grid_.columns; }
  [[nodiscard]] bool has_column(std::size_t column) const {
    return column % grid_.columns == place_.value() % grid_.columns;
  }

  /// Reads a tile that is factored: the kernel gets a `ConstTile`.
  [[nodiscard]] auto r(std::size_t row, std::size_t column) const {
    return TileAccess{plait::r(at(row, column), last_version(row, column)), layout_.rows(row), layout_.rows(column)};
  }
  /// Reads and writes a tile: the kernel gets a `Tile`.
  [[nodiscard]] auto rw(std::size_t row, std::size_t column) const {
    return TileAccess{plait::rw(at(row, column)), layout_.rows(row), layout_.rows(column)};
  }

  /// Submits a task whose kernel gets a tile for each access.
  template <class Kernel, class... Accesses>
  void submit(const plait::FlowKind& kind,
              const TaskPlace& place,
              Kernel kernel,
              const TileAccess<Accesses>&... tiles) const {
    flow_.submit(
        {.kind = kind, .priority = priority(layout_, place)},
        [&work = work_, kernel, ... tile = tiles](std::span<typename Accesses::Value>... numbers) {
          work.measure(kernel, TileOf<typename Accesses::Value>{numbers.data(), tile.rows, tile.columns}...);
        },
        tiles.access...);
  }
  /// Sends a tile that is factored to the ranks whose tasks on tiles (`in_column.first`, `in_column.other`) and below,
  /// and on (`in_row.other`, `in_row.first`) and to the right of it, read the tile. Nothing where each rank submits
  /// all.
  void send(std::size_t row, std::size_t column, const Readers& in_column, const Readers& in_row) const;
  /// Drops copies of a tile after the tasks submitted so far.
  void flush(std::size_t row, std::size_t column) const { flow_.flush(at(row, column)); }

 private:
  [[nodiscard]] static std::uint32_t narrow(std::size_t index) { return static_cast<std::uint32_t>(index); }
  [[nodiscard]] plait::Data<double> at(std::size_t row, std::size_t column) const {
    return data_(narrow(row), narrow(column));
  }
  /// The number of tasks that write a tile: each step before its own changes it, and its own ends it.
  [[nodiscard]] static std::uint32_t last_version(std::size_t row, std::size_t column) {
    return narrow(std::min(row, column)) + 1;
  }

  plait::Flow& flow_;
  const Layout& layout_;
  const bool submits_every_task_;
  const ProcessGrid grid_;   ///< Of the ranks that share the submissions: one, where each rank submits all.
  const plait::Rank place_;  ///< In it.
  TileWork& work_;
  plait::DataGrid<double> data_;
};

/// Submits A = L L^T by trailing updates. A minor that is not positive ends the run with `bad_input` and its order.
void submit_cholesky(const TileFlow& a);
/// Submits A = L U by trailing updates, without pivoting. A pivot that is 0 ends the run with `bad_input` and its row.
void submit_lu(const TileFlow& a);

}  // namespace cholesky
