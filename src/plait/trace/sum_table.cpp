// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/sum_table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <utility>

#include "plait/trace/detail/layout.hpp"

namespace plait::trace {
namespace {

using detail::Kind;

constexpr std::size_t bins_in_record = 12;
/// Durations below 2^8 ns are in bin 0.
constexpr unsigned bin_0_bits = 8;
constexpr std::size_t bin_last = 2 * bins_in_record - 1;
constexpr std::uint8_t size_class_folded = 255;
/// Free rows of a full table that only keys without a peer may take, and that only keys of a class may take.
constexpr std::size_t rows_for_places = 256;
constexpr std::size_t rows_for_classes = 16;

/// A record of kind 19.
struct TimesRecord {
  std::uint8_t kind = 0;
  std::uint8_t unused = 0;
  std::uint16_t count = bins_in_record;
  std::uint32_t low = 0;
  std::uint64_t unused_too = 0;
  std::array<std::uint32_t, bins_in_record> bins{};
};
static_assert(sizeof(TimesRecord) == detail::record_bytes);

std::size_t bin_of(nanoseconds time) noexcept {
  const auto width = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(time.count())));
  return std::min<std::size_t>(width > bin_0_bits ? width - bin_0_bits : 0, bin_last);
}

/// The key as three words, without its kind.
std::array<std::uint64_t, 3> words_of(const SumKey& key) noexcept {
  auto words = std::bit_cast<std::array<std::uint64_t, 3>>(key);
  words[0] &= ~std::uint64_t{0xFF};
  return words;
}

}  // namespace

std::uint8_t size_class_of(std::uint64_t bytes) noexcept {
  return static_cast<std::uint8_t>(std::bit_width(bytes));
}

/// Three records, the bytes that are in the file.
struct SumTable::Row {
  SumKey key;
  std::uint64_t count = 0;
  std::int64_t time = 0;
  std::int64_t time_max = 0;
  std::uint64_t bytes_given = 0;
  std::uint64_t bytes_got = 0;
  std::array<TimesRecord, 2> times{{{}, {.low = bins_in_record}}};

  [[nodiscard]] std::uint32_t& bin(std::size_t index) noexcept {
    return times[index / bins_in_record].bins[index % bins_in_record];
  }
  /// Whether its bin for such a duration can count no more.
  [[nodiscard]] bool is_full(const Addend& addend) noexcept {
    return bin(bin_of(addend.end - addend.start)) == std::numeric_limits<std::uint32_t>::max();
  }
  void add(const Addend& addend) noexcept {
    ++count;
    const nanoseconds took = addend.end - addend.start;
    time += took.count();
    time_max = std::max<std::int64_t>(time_max, took.count());
    bytes_given += addend.bytes_given;
    bytes_got += addend.bytes_got;
    std::uint32_t& same = bin(bin_of(took));
    same += same != std::numeric_limits<std::uint32_t>::max() ? 1 : 0;
  }
};

/// A record of kind 21, in the place of a row.
struct SumTable::State {
  std::uint8_t kind = static_cast<std::uint8_t>(Kind::profile_state);
  std::int64_t last = 0;
  std::uint64_t lost = 0;
  std::array<std::uint64_t, 5> unused{};
};

std::size_t SumTable::Hash::operator()(const SumKey& key) const noexcept {
  constexpr std::uint64_t multiplier = 0x9E37'79B9'7F4A'7C15U;  // 2^64 / the golden ratio
  std::uint64_t hash = 0;
  for (const std::uint64_t word : words_of(key)) {
    hash = (std::rotl(hash, 23) ^ word) * multiplier;
  }
  return hash ^ (hash >> 32U);
}

std::size_t SumTable::Hash::operator()(const Row* row) const noexcept {
  return (*this)(row->key);
}

bool SumTable::Equal::operator()(const Row* one, const Row* other) const noexcept {
  return words_of(one->key) == words_of(other->key);
}

bool SumTable::Equal::operator()(const SumKey& key, const Row* row) const noexcept {
  return words_of(key) == words_of(row->key);
}

void SumTable::add(const SumKey& key, const Addend& addend) noexcept {
  const std::lock_guard lock{lock_};
  Row* row = find(key);
  if (row != nullptr && row->key.folded != Folded::class_only && row->is_full(addend)) [[unlikely]] {
    rows_.erase(row);  // its sums stay; the same key begins again at 0
    row = find(key);
  }
  if (row != nullptr) [[likely]] {
    row->add(addend);
  }
  if (state_ != nullptr) {
    state_->last = std::max<std::int64_t>(state_->last, addend.end.count());
    state_->lost += row == nullptr ? 1 : 0;
  }
}

/// Returns the row of a key or, when there is no space, of a key that has lost a part.
SumTable::Row* SumTable::find(const SumKey& key) noexcept {
  if (const auto known = rows_.find(key); known != rows_.end()) [[likely]] {
    return *known;
  }
  SumKey wanted = key;
  if (has_more_than(rows_for_places)) {
    return insert(wanted);
  }
  wanted.folded = Folded::without_peer;
  wanted.peer = nothing;
  wanted.communicator = nothing;
  if (const auto known = rows_.find(wanted); known != rows_.end()) {
    return *known;
  }
  if (has_more_than(rows_for_classes)) {
    return insert(wanted);
  }
  wanted.folded = Folded::class_only;
  wanted.worker = 0;
  wanted.name = nothing;
  wanted.place = nothing;
  wanted.size_class = size_class_folded;
  const auto known = rows_.find(wanted);
  return known != rows_.end() ? *known : insert(wanted);
}

SumTable::Row* SumTable::insert(const SumKey& key) noexcept {
  if (free_.empty()) {
    free_ = std::exchange(spare_, {});
  }
  if (free_.empty()) {
    return nullptr;  // a full disk, which the recorder has reported
  }
  Row* const row = free_.data();
  *row = Row{.key = key};
  try {
    rows_.insert(row);
  } catch (const std::exception&) {
    return nullptr;
  }
  free_ = free_.subspan(1);
  for (TimesRecord& times : row->times) {
    times.kind = static_cast<std::uint8_t>(Kind::sum_times);
  }
  // with readers that map the file
  const Kind kind = of_ == SumsOf::calls ? Kind::sum : Kind::engine_sum;
  std::atomic_ref{row->key.kind}.store(static_cast<std::uint8_t>(kind), std::memory_order_release);
  return row;
}

/// Whether there are more free rows, with those of another chunk if there may be one.
bool SumTable::has_more_than(std::size_t rows) noexcept {
  if (free_.size() + spare_.size() <= rows && spare_.empty()) {
    spare_ = new_chunk();
  }
  return free_.size() + spare_.size() > rows;
}

std::span<SumTable::Row> SumTable::new_chunk() noexcept {
  static_assert(sizeof(Row) == 3 * detail::record_bytes && offsetof(Row, count) == 24);
  static_assert((chunk_bytes - detail::record_bytes) % sizeof(Row) == 0, "no row is in two chunks");
  const bool is_first = !std::exchange(has_chunk_, true);
  if (!is_first && chunks_left_.fetch_sub(1, std::memory_order_relaxed) <= 0) {
    chunks_left_.store(0, std::memory_order_relaxed);  // a count by itself
    return {};
  }
  const std::span<std::byte> bytes = recorder_.lasting_chunk("profile");
  const std::span<Row> rows{reinterpret_cast<Row*>(bytes.data()), bytes.size() / sizeof(Row)};
  if (!is_first || rows.empty()) {
    return rows;
  }
  static_assert(sizeof(State) == detail::record_bytes && offsetof(State, last) == 8);
  state_ = reinterpret_cast<State*>(rows.data());
  std::fill_n(state_, sizeof(Row) / sizeof(State), State{});
  return rows.subspan(1);
}

SumTables::SumTables(Recorder& recorder, SumsOf of) {
  for (std::unique_ptr<SumTable>& table : tables_) {
    table = std::make_unique<SumTable>(recorder, of, chunks_left_);
  }
}

}  // namespace plait::trace
