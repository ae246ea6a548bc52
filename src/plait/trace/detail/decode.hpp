// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "plait/trace/detail/records.hpp"

namespace plait::trace::detail {

/// Why a record cannot be true, such as "task" "with an impossible time"; null words when nothing is wrong.
struct Trouble {
  const char* noun = nullptr;
  const char* words = nullptr;
};

/// Reads the fields that `describe` names from their offsets in a record, and checks them. Lists that it has read last
/// as long as it does.
class FieldReader {
 public:
  FieldReader(const std::byte* record, std::uint32_t rank_count) noexcept : record_{record}, rank_count_{rank_count} {}

  [[nodiscard]] const Trouble& trouble() const noexcept { return trouble_; }
  /// The latest time in the record.
  [[nodiscard]] nanoseconds latest() const noexcept { return latest_; }

  void begin(const char* noun) noexcept { trouble_.noun = noun; }
  template <class T>
  void value(std::size_t at, T& value) noexcept {
    if constexpr (requires { typename T::Value; }) {
      value = T{get<typename T::Value>(at)};  // an id
    } else {
      value = get<T>(at);
    }
    if constexpr (std::is_floating_point_v<T>) {
      refuse_if(!std::isfinite(value), "whose value is not finite");
    }
  }
  void time(std::size_t at, nanoseconds& time) noexcept {
    shift(at, time);
    latest_ = std::max(latest_, time);
  }
  void shift(std::size_t at, nanoseconds& shift) noexcept {
    shift = nanoseconds{get<std::int64_t>(at)};
    refuse_if(shift.count() > time_max_ns || shift.count() < -time_max_ns, "with an impossible time");
  }
  void duration(std::size_t at, nanoseconds& duration, const char* words) noexcept {
    shift(at, duration);
    refuse_if(duration < nanoseconds{}, words);
  }
  void interval(nanoseconds start, nanoseconds end, bool is_known) noexcept {
    refuse_if(is_known && end < start, "ends before it starts");
  }
  template <class Enum>
  void choice(std::size_t at, Enum& choice, Enum last, const char* words) noexcept {
    choice = get<Enum>(at);
    refuse_if(choice > last, words);
  }
  template <class Number>
  void rank(std::size_t at, Number& rank, bool may_be_none) noexcept {
    value(at, rank);
    refuse_if(!is_rank(get<std::uint32_t>(at), may_be_none), "of a rank that is not in the run");
  }
  void worker(std::size_t at) noexcept {
    const auto worker = get<std::uint16_t>(at);
    refuse_if(worker >= worker_count_max && worker != no_worker, "of an impossible worker");
  }
  void size(std::size_t at, std::uint64_t& bytes) noexcept {
    value(at, bytes);
    refuse_if(bytes > size_max, "of an impossible size");
  }
  void object(std::size_t at, std::uint64_t& object, TaskRole role) noexcept {
    value(at, object);
    refuse_if(role != TaskRole::compute && object >> 32U >= rank_count_, "of a rank that is not in the run");
  }
  void flag(std::size_t at, bool& is_set, unsigned bit) noexcept { is_set = (get<std::uint8_t>(at) & bit) != 0; }
  /// The text ends at the first zero, or at `length`.
  void text(std::size_t at, std::string_view& text, std::size_t length) noexcept {
    refuse_if(length > text_bytes_max, "that is longer than its record");
    text = {reinterpret_cast<const char*>(record_ + at), std::min(length, text_bytes_max)};
    text = text.substr(0, text.find('\0'));
  }

  /// The number of entries of the list that follows.
  template <class Count>
  void count(std::size_t at, Count /*unused*/) noexcept {
    count_ = get<Count>(at);
  }
  template <class T>
  void list(std::size_t at, std::span<const T>& list) noexcept {
    const std::size_t length = (record_bytes - at) / sizeof(T);
    auto& storage = std::get<std::array<T, list_bytes / sizeof(T)>&>(std::tie(numbers_, sizes_));
    std::memcpy(storage.data(), record_ + at, length * sizeof(T));
    refuse_if(count_ > length, "with a list that is longer than its record");
    list = std::span{storage}.first(std::min(count_, length));
  }
  void ranks(std::size_t at, std::span<const std::uint32_t>& ranks) noexcept {
    list(at, ranks);
    refuse_if(!std::ranges::all_of(ranks, [this](std::uint32_t rank) { return is_rank(rank, true); }),
              "of a rank that is not in the run");
  }
  void sizes(std::size_t at, std::span<const std::uint64_t>& sizes) noexcept {
    list(at, sizes);
    refuse_if(std::ranges::any_of(sizes, [](std::uint64_t size) { return size > size_max; }), "of an impossible size");
  }
  /// Of a list of `size` entries, this record has those from `first` on.
  void part_of(std::uint32_t first, std::uint32_t size) noexcept {
    refuse_if(size > 2 * std::uint64_t{rank_count_}, "of more members than the run has ranks");
    refuse_if(first >= size, "with a member beyond its size");
    count_ = std::min<std::size_t>(size - std::min(first, size), list_bytes / sizeof(std::uint32_t));
  }
  /// The list that was read begins at member `first`.
  void part(std::uint32_t first) noexcept {
    refuse_if(first + count_ > 2 * std::uint64_t{rank_count_}, "of more members than the run has ranks");
  }

 private:
  template <class T>
  [[nodiscard]] T get(std::size_t at) const noexcept {
    T value;
    std::memcpy(&value, record_ + at, sizeof value);
    return value;
  }
  [[nodiscard]] bool is_rank(std::uint32_t number, bool may_be_none) const noexcept {
    return number < rank_count_ || (may_be_none && number == nothing);
  }
  void refuse_if(bool is_bad, const char* words) noexcept {
    if (is_bad && trouble_.words == nullptr) {
      trouble_.words = words;
    }
  }

  const std::byte* record_;
  std::uint32_t rank_count_;
  Trouble trouble_;
  nanoseconds latest_{};
  std::size_t count_ = 0;
  std::array<std::uint32_t, list_bytes / sizeof(std::uint32_t)> numbers_;  // set with the list
  std::array<std::uint64_t, list_bytes / sizeof(std::uint64_t)> sizes_;    // set with the list
};

template <class Event, class Take>
Trouble decode_as(const std::byte* record, std::uint32_t rank_count, Take& take) {
  Event event;
  FieldReader fields{record, rank_count};
  describe(fields, event);
  if (fields.trouble().words == nullptr) {
    take(event, fields.latest());
  }
  return fields.trouble();
}

/// Decodes a record and calls `take` with its event, whose texts and lists last for the call, and its latest time. Does
/// not call it for a record that is invalid in a run of `rank_count` ranks, nor for kinds of later versions.
template <class Take, class... All>
[[nodiscard]] Trouble decode(const std::byte* record, std::uint32_t rank_count, Take take, RecordList<All...> /*all*/) {
  const auto kind = static_cast<Kind>(record[0]);
  Trouble trouble;
  (void)((kind == All::kind && (trouble = decode_as<typename All::Event>(record, rank_count, take), true)) || ...);
  return trouble;
}

/// Whether records of this kind can be decoded: not those of later versions.
template <class... All>
[[nodiscard]] constexpr bool is_known(Kind kind, RecordList<All...> /*all*/) noexcept {
  return ((kind == All::kind) || ...);
}

}  // namespace plait::trace::detail
