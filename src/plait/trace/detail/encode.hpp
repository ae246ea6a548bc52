// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "plait/trace/detail/records.hpp"
#include "plait/trace/record_writer.hpp"

namespace plait::trace::detail {

/// Writes the fields that `describe` names at their offsets in a record, whose bytes are zeros.
class FieldWriter {
 public:
  FieldWriter(std::byte* record, std::uint16_t worker) noexcept : record_{record}, worker_{worker} {}

  template <class T>
  void value(std::size_t at, const T& value) noexcept {
    if constexpr (requires { value.value(); }) {
      put(at, value.value());  // an id
    } else {
      put(at, value);
    }
  }
  void time(std::size_t at, nanoseconds time) noexcept { put<std::int64_t>(at, time.count()); }
  void shift(std::size_t at, nanoseconds shift) noexcept { time(at, shift); }
  void duration(std::size_t at, nanoseconds duration, const char* /*words*/) noexcept { time(at, duration); }
  template <class Enum>
  void choice(std::size_t at, Enum choice, Enum /*last*/, const char* /*words*/) noexcept {
    put(at, choice);
  }
  template <class Number>
  void rank(std::size_t at, const Number& rank, bool /*may_be_none*/) noexcept {
    value(at, rank);
  }
  void worker(std::size_t at) noexcept { put(at, worker_); }
  void size(std::size_t at, std::uint64_t bytes) noexcept { put(at, bytes); }
  void object(std::size_t at, std::uint64_t object, TaskRole /*role*/) noexcept { put(at, object); }
  void flag(std::size_t at, bool is_set, unsigned bit) noexcept { record_[at] |= std::byte(is_set ? bit : 0U); }
  void text(std::size_t at, std::string_view text, std::size_t /*length*/) noexcept {
    std::memcpy(record_ + at, text.data(), std::min(text.size(), text_bytes_max));
  }
  template <class Count>
  void count(std::size_t at, Count count) noexcept {
    put(at, count);
  }
  template <class T>
  void list(std::size_t at, std::span<const T> list, T fill = 0) noexcept {
    for (std::size_t i = 0; i < (record_bytes - at) / sizeof(T); ++i) {
      put(at + i * sizeof(T), i < list.size() ? list[i] : fill);
    }
  }
  void ranks(std::size_t at, std::span<const std::uint32_t> ranks) noexcept { list(at, ranks, nothing); }
  void sizes(std::size_t at, std::span<const std::uint64_t> sizes) noexcept { list(at, sizes); }

  // What only readers check.
  void begin(const char* /*noun*/) noexcept {}
  void interval(nanoseconds /*start*/, nanoseconds /*end*/, bool /*is_known*/) noexcept {}
  void part_of(std::uint32_t /*first*/, std::uint32_t /*size*/) noexcept {}
  void part(std::uint32_t /*first*/) noexcept {}

 private:
  template <class T>
  void put(std::size_t at, T value) noexcept {
    std::memcpy(record_ + at, &value, sizeof value);
  }

  std::byte* record_;
  std::uint16_t worker_;
};

template <class Event>
void encode_one(const Event& event, RecordWriter& writer) noexcept {
  if (std::byte* const record = writer.begin_record(); record != nullptr) {
    FieldWriter fields{record, writer.worker()};
    describe(fields, const_cast<Event&>(event));  // only read
    writer.end_record(static_cast<std::uint8_t>(kind_of<Event>(Records{})));
  }
}

/// Writes an event as one record; one with a list, as many as the list needs.
template <class Event>
void encode(const Event& event, RecordWriter& writer) noexcept {
  if constexpr (std::is_null_pointer_v<decltype(list_of<Event>)>) {
    encode_one(event, writer);
  } else {
    constexpr auto list = list_of<Event>;
    const auto whole = event.*list;
    constexpr std::size_t length = list_length<Event>;
    Event part = event;
    for (std::size_t done = 0; done < whole.size() || (done == 0 && records_empty_list<Event>); done += length) {
      part.*list = whole.subspan(done, std::min(length, whole.size() - done));
      if constexpr (requires { part.size; }) {
        part.size = static_cast<std::uint32_t>(event.first + whole.size());
      }
      if constexpr (requires { part.first; }) {
        part.first = static_cast<std::uint32_t>(event.first + done);
      }
      encode_one(part, writer);
    }
  }
}

}  // namespace plait::trace::detail
