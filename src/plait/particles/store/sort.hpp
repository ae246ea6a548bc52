// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::particles {

/// A key of 128 bits, such as that of a curve with 42 levels.
struct Key128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend constexpr auto operator<=>(const Key128&, const Key128&) = default;
};

/// A number as a key that orders alike: negative ones too, -0 before +0; NaN comes before or after all others.
[[nodiscard]] constexpr std::uint64_t key_of(double value) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  constexpr std::uint64_t sign = std::uint64_t{1} << 63U;
  return (bits & sign) != 0 ? ~bits : bits | sign;
}

template <class Key>
concept SortKey = std::same_as<Key, std::uint64_t> || std::same_as<Key, Key128>;

/// Finds the order of keys on several threads: a sample sort, whose buckets fit a core's cache.
///
/// `take_keys` for all pieces, `split`, `count_piece` and then `place_piece` for all pieces, with `plan` between, and
/// `sort_bucket` for all buckets; then `order` has it. Calls of one phase may run at the same time, for different
/// pieces or buckets. Stable: equal keys keep their order. Memory: 34 bytes an item (42 for
/// `Key128`), on the heap and kept. Cost: O(n log n), of which each thread does its part whatever the keys are: places
/// count as the lowest part of a key, so that many equal ones are divided too.
template <SortKey Key>
class SampleSort {
 public:
  /// Expects: at least one piece.
  void begin(std::size_t count, std::uint32_t pieces);
  [[nodiscard]] std::size_t piece_begin(std::uint32_t piece) const noexcept { return count_ * piece / pieces_; }

  /// `key(i)` is the key of item i.
  template <class KeyOf>
  void take_keys(std::uint32_t piece, KeyOf key) {
    for (std::size_t i = piece_begin(piece); i < piece_begin(piece + 1); ++i) {
      if constexpr (is_wide) {
        const Key128 whole = key(i);
        items_[i] = {i, whole.high};
        low_[i] = whole.low;
      } else {
        items_[i] = {i, key(i)};
      }
    }
  }
  void split();
  void count_piece(std::uint32_t piece);
  void plan();
  void place_piece(std::uint32_t piece);
  [[nodiscard]] std::uint32_t buckets() const noexcept { return bucket_count_; }
  void sort_bucket(std::uint32_t bucket);

  /// The former index of the item that comes i-th.
  [[nodiscard]] std::size_t order(std::size_t i) const noexcept { return sorted_[i].index; }

 private:
  static constexpr bool is_wide = std::same_as<Key, Key128>;
  /// One number, the key above the place.
  struct Item {
    std::uint64_t index;
    std::uint64_t key;  ///< The high part of a wide one.
  };
  struct Splitter {
    Item item;
    std::uint64_t low;
  };
  template <class T>
  using Array = std::vector<T, UninitializedAllocator<T>>;

  /// Whether item i, by its first index, comes before the item that `splitter` was made of.
  [[nodiscard]] bool is_before(std::size_t i, const Splitter& splitter) const noexcept;
  /// Those that are equal in what has been compared, from `begin` on, by the low parts of their keys.
  void order_by_low(std::size_t begin, std::size_t end);

  std::size_t count_ = 0;
  std::uint32_t pieces_ = 1;
  std::uint32_t bucket_count_ = 1;  ///< A power of two.
  Array<Item> items_;
  Array<Item> sorted_;
  Array<std::uint64_t> low_;         ///< Low parts of wide keys, by first index.
  std::vector<Splitter> splitters_;  ///< An implicit search tree, from index 1.
  std::vector<std::size_t> places_;  ///< [piece][bucket]: the number of items, then where they go.
  std::vector<std::size_t> begins_;  ///< [bucket], and the end.
  Array<std::uint16_t> bucket_of_;   ///< Of each item.
};

extern template class SampleSort<std::uint64_t>;
extern template class SampleSort<Key128>;

namespace detail {

/// Runs `phases` one after the other on the workers, each as `count()` pieces.
struct Phase {
  std::function<std::uint32_t()> count;
  std::function<void(std::uint32_t)> piece;
};
void run_phases(task::Scheduler& scheduler, std::span<const Phase> phases);

/// Memory that is not cleared, on large pages where the system gives them.
struct FreeLarge {
  void operator()(std::byte* memory) const noexcept;
};
using LargeArray = std::unique_ptr<std::byte, FreeLarge>;
[[nodiscard]] LargeArray allocate_large(std::size_t bytes);

}  // namespace detail

/// Sorts structs by 64- or 128-bit keys on the workers of a scheduler: keys and places are sorted, then each struct is
/// moved twice. Keeps its memory, of one more copy of the structs and of `SampleSort`, for the next time. Stable.
///
/// Threads: one at a time. Throws: as `Scheduler::run`.
template <class T>
  requires std::is_trivially_copyable_v<T>
class StructSort {
 public:
  explicit StructSort(task::Scheduler& scheduler) : scheduler_{scheduler} {}

  /// `key_of(item)` gives a `std::uint64_t` or a `Key128`; a number becomes one by `particles::key_of`.
  template <class KeyOf>
  void operator()(std::span<T> items, KeyOf key_of) {
    using Key = std::remove_cvref_t<std::invoke_result_t<KeyOf, const T&>>;
    SampleSort<Key>& sort = engine<Key>();
    if (scratch_bytes_ < items.size_bytes()) {
      scratch_.reset();
      scratch_ = detail::allocate_large(items.size_bytes());
      scratch_bytes_ = items.size_bytes();
    }
    const std::uint32_t pieces = scheduler_.worker_count() == 1 ? 1 : 4 * scheduler_.worker_count();
    sort.begin(items.size(), pieces);
    T* const moved = reinterpret_cast<T*>(scratch_.get());
    const auto one = [] { return 1U; };
    const auto all = [pieces] { return pieces; };
    const detail::Phase phases[] = {
        {all, [&](std::uint32_t p) { sort.take_keys(p, [&](std::size_t i) { return key_of(items[i]); }); }},
        {one, [&](std::uint32_t) { sort.split(); }},
        {all, [&](std::uint32_t p) { sort.count_piece(p); }},
        {one, [&](std::uint32_t) { sort.plan(); }},
        {all, [&](std::uint32_t p) { sort.place_piece(p); }},
        {[&] { return sort.buckets(); }, [&](std::uint32_t b) { sort.sort_bucket(b); }},
        {all, [&](std::uint32_t p) { gather(sort, items, moved, p); }},
        {all, [&](std::uint32_t p) { bring_home(sort, items, moved, p); }}};
    detail::run_phases(scheduler_, phases);
  }

 private:
  template <class Key>
  SampleSort<Key>& engine() {
    if constexpr (std::same_as<Key, Key128>) {
      return wide_;
    } else {
      return narrow_;
    }
  }

  template <class Engine>
  static void gather(const Engine& sort, std::span<const T> items, T* moved, std::uint32_t piece) {
    constexpr std::size_t ahead = 16;  // structs on their way from memory
    const std::size_t end = sort.piece_begin(piece + 1);
    for (std::size_t i = sort.piece_begin(piece); i < end; ++i) {
      if (i + ahead < end) {
        const auto* next = reinterpret_cast<const std::byte*>(&items[sort.order(i + ahead)]);
        for (std::size_t line = 0; line < sizeof(T); line += 64) {
          __builtin_prefetch(next + line);
        }
      }
      std::memcpy(moved + i, &items[sort.order(i)], sizeof(T));
    }
  }
  template <class Engine>
  static void bring_home(const Engine& sort, std::span<T> items, const T* moved, std::uint32_t piece) {
    const std::size_t begin = sort.piece_begin(piece);
    const std::size_t count = sort.piece_begin(piece + 1) - begin;
    if (count > 0) {
      std::memcpy(items.data() + begin, moved + begin, count * sizeof(T));
    }
  }

  task::Scheduler& scheduler_;
  SampleSort<std::uint64_t> narrow_;
  SampleSort<Key128> wide_;
  detail::LargeArray scratch_;
  std::size_t scratch_bytes_ = 0;
};

}  // namespace plait::particles
