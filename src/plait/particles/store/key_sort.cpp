// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/store/key_sort.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "plait/base/error.hpp"

namespace plait::particles {
namespace {

constexpr int digit_bits = 11;
constexpr std::size_t digit_values = std::size_t{1} << digit_bits;
constexpr std::size_t radix_count_min = 512;  // below, a comparison sort is faster

std::size_t digit_of(MortonKey key, int shift) {
  return key >> shift & (digit_values - 1);
}

/// Stable; from `from` to `to`, by the digit at `shift`. Returns false, having moved nothing, when all are equal.
bool radix_pass(std::span<const KeyedIndex> from, std::span<KeyedIndex> to, int shift) {
  std::array<std::uint32_t, digit_values> next{};
  for (const KeyedIndex& item : from) {
    ++next[digit_of(item.key, shift)];
  }
  if (next[digit_of(from.front().key, shift)] == from.size()) {
    return false;
  }
  std::uint32_t begin = 0;
  for (std::uint32_t& entry : next) {
    begin += std::exchange(entry, begin);
  }
  for (const KeyedIndex& item : from) {
    to[next[digit_of(item.key, shift)]++] = item;
  }
  return true;
}

/// Sorts runs whose keys agree from bit `shift` up.
void sort_runs(std::span<KeyedIndex> items, int shift) {
  for (std::size_t i = 0; i + 1 < items.size();) {
    std::size_t end = i + 1;
    while (end < items.size() && items[end].key >> shift == items[i].key >> shift) {
      ++end;
    }
    if (end - i > 1) {
      std::sort(items.begin() + static_cast<std::ptrdiff_t>(i), items.begin() + static_cast<std::ptrdiff_t>(end));
    }
    i = end;
  }
}

}  // namespace

void sort_keys(std::span<KeyedIndex> items, std::span<KeyedIndex> scratch) {
  expect(scratch.size() == items.size(), "the scratch space is as long as the items");
  if (items.size() < radix_count_min) {
    std::ranges::sort(items);
    return;
  }
  // Two more levels than n bodies need in a plane; the few that then still share a cell are sorted apart.
  const int levels = static_cast<int>(std::bit_width(items.size())) / 2 + 2;
  const int passes = std::min((3 * levels + digit_bits - 1) / digit_bits, 6);
  const int lowest = std::max(far_bit + 1 - passes * digit_bits, 0);
  std::span<KeyedIndex> from = items;
  std::span<KeyedIndex> to = scratch;
  for (int pass = 0; pass < passes; ++pass) {
    if (radix_pass(from, to, lowest + pass * digit_bits)) {
      std::swap(from, to);
    }
  }
  if (from.data() != items.data()) {
    std::ranges::copy(from, items.begin());
  }
  if (lowest > 0) {
    sort_runs(items, lowest);
  }
}

PiecewiseSort::PiecewiseSort(std::span<KeyedIndex> items, std::span<KeyedIndex> scratch, std::uint32_t pieces)
    : items_{items}, scratch_{scratch}, pieces_{pieces} {
  expect(pieces > 0, "there is at least one piece");
  expect(scratch.size() == items.size(), "the scratch space is as long as the items");
}

std::size_t PiecewiseSort::chunk_begin(std::uint32_t chunk) const {
  return items_.size() * chunk / pieces_;
}

void PiecewiseSort::sort_chunk(std::uint32_t chunk) {
  const std::size_t begin = chunk_begin(chunk);
  const std::size_t count = chunk_begin(chunk + 1) - begin;
  sort_keys(items_.subspan(begin, count), scratch_.subspan(begin, count));
}

void PiecewiseSort::split() {
  // Regular sampling: no piece gets more than about twice its share (Shi and Schaeffer 1992).
  std::vector<KeyedIndex> samples;
  for (std::uint32_t chunk = 0; chunk < pieces_; ++chunk) {
    const std::size_t begin = chunk_begin(chunk);
    const std::size_t count = chunk_begin(chunk + 1) - begin;
    for (std::uint32_t k = 0; k < pieces_ && count > 0; ++k) {
      samples.push_back(items_[begin + count * k / pieces_]);
    }
  }
  std::ranges::sort(samples);
  cuts_.assign((std::size_t{pieces_} + 1) * pieces_, 0);
  begins_.assign(std::size_t{pieces_} + 1, 0);
  for (std::uint32_t piece = 0; piece <= pieces_; ++piece) {
    for (std::uint32_t chunk = 0; chunk < pieces_; ++chunk) {
      const auto first = items_.begin() + static_cast<std::ptrdiff_t>(chunk_begin(chunk));
      const auto last = items_.begin() + static_cast<std::ptrdiff_t>(chunk_begin(chunk + 1));
      auto cut = piece == 0 ? first : last;
      if (piece > 0 && piece < pieces_ && !samples.empty()) {
        cut = std::lower_bound(first, last, samples[samples.size() * piece / pieces_]);
      }
      cuts_[std::size_t{piece} * pieces_ + chunk] = static_cast<std::size_t>(cut - items_.begin());
      begins_[piece] += static_cast<std::size_t>(cut - first);
    }
  }
}

void PiecewiseSort::merge_piece(std::uint32_t piece) {
  const auto begin = scratch_.begin() + static_cast<std::ptrdiff_t>(begins_[piece]);
  auto end = begin;
  for (std::uint32_t chunk = 0; chunk < pieces_; ++chunk) {
    const std::size_t first = cuts_[std::size_t{piece} * pieces_ + chunk];
    const std::size_t last = cuts_[(std::size_t{piece} + 1) * pieces_ + chunk];
    const auto middle = end;
    end = std::copy(
        items_.begin() + static_cast<std::ptrdiff_t>(first), items_.begin() + static_cast<std::ptrdiff_t>(last), end);
    std::inplace_merge(begin, middle, end);
  }
}

}  // namespace plait::particles
