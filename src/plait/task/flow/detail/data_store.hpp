// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/task/flow/detail/datum.hpp"
#include "plait/task/flow/distribution.hpp"
#include "plait/task/flow/options.hpp"

namespace plait::task::detail {

/// A grid of data. The functions are called when a piece is first named, and are the same on every rank.
struct GridLayout {
  std::string name;
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  Distribution owner;
  std::function<std::size_t(std::uint32_t row, std::uint32_t column)> bytes;
  std::function<std::byte*(std::uint32_t row, std::uint32_t column)> memory;  ///< The owner's; empty: allocated.
};

/// The data that this rank has named, and the memory of those that it owns.
///
/// A datum has the same number on every rank. A grid has the numbers of all its pieces from the start, but a piece is
/// created when it is first named: a rank has no memory for pieces that it never names. Threads: one at a time.
class DataStore {
 public:
  class Grid;

  DataStore(FlowEngine& engine, Rank self, std::uint32_t rank_count, Submission submission) noexcept
      : engine_{engine}, self_{self}, rank_count_{rank_count}, submission_{submission} {}
  DataStore(const DataStore&) = delete;
  DataStore& operator=(const DataStore&) = delete;
  ~DataStore();

  /// `memory`: the owner's; null: allocated. Throws: `Error` with `bad_argument` when no rank is `owner`.
  [[nodiscard]] Datum& add(Rank owner, std::size_t bytes, std::byte* memory);
  [[nodiscard]] Grid& add_grid(GridLayout layout);
  /// Returns the name of a datum in errors: `A(1, 2)`, or its number.
  [[nodiscard]] std::string name_of(std::uint32_t id) const;
  /// Returns the data that this rank has named.
  [[nodiscard]] std::deque<Datum>& all() noexcept { return data_; }

 private:
  [[nodiscard]] std::uint32_t take_numbers(std::uint64_t count);
  [[nodiscard]] Datum& create(std::uint32_t id, Rank owner, std::size_t bytes, std::byte* memory);

  FlowEngine& engine_;
  const Rank self_;
  const std::uint32_t rank_count_;
  const Submission submission_;
  std::uint32_t numbers_ = 0;  ///< In use, from 0.
  std::deque<Datum> data_;
  std::deque<Grid> grids_;  ///< In the order of their numbers.
  std::deque<Place> homes_;
  std::vector<std::byte*> home_memory_;
};

/// The pieces of a grid. A flow of every task names most of them, and one of own tasks few.
class DataStore::Grid {
 public:
  Grid(DataStore& store, std::uint32_t first, GridLayout layout);

  [[nodiscard]] const GridLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] std::uint32_t first() const noexcept { return first_; }
  /// Expects: the piece exists.
  [[nodiscard]] Datum& at(std::uint32_t row, std::uint32_t column) {
    const std::uint32_t index = row * layout_.columns + column;
    Datum*& piece = is_sparse_ ? few_[index] : all_[index];
    if (piece == nullptr) {
      piece = &create(row, column);
    }
    return *piece;
  }

 private:
  [[nodiscard]] Datum& create(std::uint32_t row, std::uint32_t column);

  DataStore& store_;
  const std::uint32_t first_;
  const GridLayout layout_;
  const bool is_sparse_;
  std::vector<Datum*> all_;
  std::unordered_map<std::uint32_t, Datum*> few_;
};

}  // namespace plait::task::detail
