// SPDX-License-Identifier: Apache-2.0
#include "plait/task/flow/detail/data_store.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/task/flow/detail/copy_memory.hpp"
#include "plait/task/flow/detail/values.hpp"

namespace plait::task::detail {

namespace {

constexpr std::uint64_t numbers_max = std::numeric_limits<std::uint32_t>::max() - 1;  // above: tags of checks

}  // namespace

DataStore::~DataStore() {
  std::ranges::for_each(home_memory_, free_aligned);
}

std::uint32_t DataStore::take_numbers(std::uint64_t count) {
  if (count > numbers_max - numbers_) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("a flow has at most {} data: {} more are too many; use larger pieces", numbers_max, count)};
  }
  return std::exchange(numbers_, numbers_ + static_cast<std::uint32_t>(count));
}

Datum& DataStore::add(Rank owner, std::size_t bytes, std::byte* memory) {
  return create(take_numbers(1), owner, bytes, memory);
}

DataStore::Grid& DataStore::add_grid(GridLayout layout) {
  const std::uint32_t first = take_numbers(std::uint64_t{layout.rows} * layout.columns);
  return grids_.emplace_back(*this, first, std::move(layout));
}

Datum& DataStore::create(std::uint32_t id, Rank owner, std::size_t bytes, std::byte* memory) {
  if (owner.value() >= rank_count_) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("rank {} cannot own data: this run has {} ranks", owner.value(), rank_count_)};
  }
  Datum& datum = data_.emplace_back(engine_, id, owner);
  datum.bytes = bytes;
  if (owner == self_) {
    LocalDatum& local = Values::local_of(datum);
    local.home = &homes_.emplace_back();
    local.home->bytes = bytes;
    local.home->memory = memory != nullptr ? memory : home_memory_.emplace_back(allocate_aligned(bytes));
    local.current = local.home;
    local.has_value = memory != nullptr;
  }
  return datum;
}

std::string DataStore::name_of(std::uint32_t id) const {
  const auto after = std::ranges::upper_bound(grids_, id, {}, &Grid::first);
  if (after != grids_.begin()) {
    const Grid& grid = *std::prev(after);
    const std::uint64_t index = id - grid.first();
    const GridLayout& layout = grid.layout();
    if (index < std::uint64_t{layout.rows} * layout.columns) {
      return fmt::format("{}({}, {})", layout.name, index / layout.columns, index % layout.columns);
    }
  }
  return fmt::format("data {}", id);
}

DataStore::Grid::Grid(DataStore& store, std::uint32_t first, GridLayout layout)
    : store_{store},
      first_{first},
      layout_{std::move(layout)},
      is_sparse_{store.submission_ == Submission::own_tasks},
      all_(is_sparse_ ? 0 : std::size_t{layout_.rows} * layout_.columns) {}

Datum& DataStore::Grid::create(std::uint32_t row, std::uint32_t column) {
  const Rank owner = layout_.owner(row, column);
  std::byte* const memory = owner == store_.self_ && layout_.memory ? layout_.memory(row, column) : nullptr;
  return store_.create(first_ + row * layout_.columns + column, owner, layout_.bytes(row, column), memory);
}

}  // namespace plait::task::detail
