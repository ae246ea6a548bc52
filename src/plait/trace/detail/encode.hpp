// SPDX-License-Identifier: Apache-2.0
// Made from schema.toml by tools/make_trace_code.py: edit that.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "plait/trace/detail/bytes.hpp"
#include "plait/trace/detail/layout.hpp"
#include "plait/trace/event.hpp"
#include "plait/trace/record_writer.hpp"

/// Each `encode` writes an event as one record; one with a list, as many as the list needs.
namespace plait::trace::detail {

inline void encode(const ChunkRecord& event, RecordWriter& writer) noexcept {
  if (std::byte* const to = writer.begin_record(); to != nullptr) {
    put<std::uint16_t>(to, 2, event.thread);
    put<std::uint32_t>(to, 4, event.number);
    put_text(to, 8, event.name);
    writer.end_record(static_cast<std::uint8_t>(Kind::chunk));
  }
}

inline void encode(const NameRecord& event, RecordWriter& writer) noexcept {
  if (std::byte* const to = writer.begin_record(); to != nullptr) {
    put<std::uint8_t>(to, 1, static_cast<std::uint8_t>(event.role));
    put<std::uint16_t>(to, 2, event.length);
    put<std::uint32_t>(to, 4, event.number);
    put_text(to, 8, event.text);
    writer.end_record(static_cast<std::uint8_t>(Kind::name));
  }
}

inline void encode(const TaskEvent& event, RecordWriter& writer) noexcept {
  if (std::byte* const to = writer.begin_record(); to != nullptr) {
    put<std::uint16_t>(to, 2, writer.worker());
    put<std::uint32_t>(to, 4, event.kind.value());
    put<std::uint8_t>(to, 1, static_cast<std::uint8_t>(event.role));
    put<std::uint64_t>(to, 8, event.object);
    put<std::int64_t>(to, 16, event.ready.count());
    put<std::int64_t>(to, 24, event.start.count());
    put<std::int64_t>(to, 32, event.end.count());
    put<std::uint64_t>(to, 40, event.id);
    put<std::uint64_t>(to, 48, event.released_by);
    put<std::uint32_t>(to, 56, event.step);
    put<std::uint32_t>(to, 60, event.place);
    writer.end_record(static_cast<std::uint8_t>(Kind::task));
  }
}

inline void encode(const MessageEvent& event, RecordWriter& writer) noexcept {
  if (std::byte* const to = writer.begin_record(); to != nullptr) {
    put<std::uint8_t>(to, 1, static_cast<std::uint8_t>(event.direction));
    put<std::uint8_t>(to, 2, static_cast<std::uint8_t>(event.protocol));
    put<std::uint32_t>(to, 4, event.peer.value());
    put<std::uint32_t>(to, 8, event.communicator);
    put<std::uint32_t>(to, 12, event.sequence);
    put<std::uint64_t>(to, 16, event.tag.value());
    put<std::uint64_t>(to, 24, event.bytes);
    put<std::int64_t>(to, 32, event.posted.count());
    put<std::int64_t>(to, 40, event.handed.count());
    put<std::int64_t>(to, 48, event.arrived.count());
    put<std::int64_t>(to, 56, event.completed.count());
    put(to, 3, static_cast<std::uint8_t>((event.is_matched_by_order ? 1U : 0U) | (event.is_unfinished ? 2U : 0U)));
    writer.end_record(static_cast<std::uint8_t>(Kind::message));
  }
}

inline void encode(const SpanEvent& event, RecordWriter& writer) noexcept {
  if (std::byte* const to = writer.begin_record(); to != nullptr) {
    put<std::uint16_t>(to, 2, writer.worker());
    put<std::uint32_t>(to, 4, event.name.value());
    put<std::uint64_t>(to, 8, event.object);
    put<std::int64_t>(to, 16, event.start.count());
    put<std::int64_t>(to, 24, event.end.count());
    put<std::uint32_t>(to, 32, event.step);
    writer.end_record(static_cast<std::uint8_t>(Kind::span));
  }
}

inline void encode(const PollGapEvent& event, RecordWriter& writer) noexcept {
  if (std::byte* const to = writer.begin_record(); to != nullptr) {
    put<std::uint16_t>(to, 2, writer.worker());
    put<std::int64_t>(to, 8, event.start.count());
    put<std::int64_t>(to, 16, event.end.count());
    writer.end_record(static_cast<std::uint8_t>(Kind::poll_gap));
  }
}

inline void encode(const CounterEvent& event, RecordWriter& writer) noexcept {
  if (std::byte* const to = writer.begin_record(); to != nullptr) {
    put<std::uint32_t>(to, 4, event.name.value());
    put<std::int64_t>(to, 8, event.time.count());
    put<double>(to, 16, event.value);
    put<std::uint32_t>(to, 24, event.step);
    writer.end_record(static_cast<std::uint8_t>(Kind::counter));
  }
}

inline void encode(const ClockEvent& event, RecordWriter& writer) noexcept {
  if (std::byte* const to = writer.begin_record(); to != nullptr) {
    put<std::int64_t>(to, 8, event.time.count());
    put<std::int64_t>(to, 16, event.offset.count());
    put<std::int64_t>(to, 24, event.round_trip.count());
    writer.end_record(static_cast<std::uint8_t>(Kind::clock));
  }
}

inline void encode(const GraphTaskEvent& event, RecordWriter& writer) noexcept {
  const auto list = event.later;
  std::size_t done = 0;
  do {
    const std::size_t count = std::min<std::size_t>(list.size() - done, 12);
    if (std::byte* const to = writer.begin_record(); to != nullptr) {
      put(to, 2, static_cast<std::uint16_t>(count));
      put<std::uint32_t>(to, 8, event.graph);
      put<std::uint32_t>(to, 12, event.place);
      put<std::uint8_t>(to, 1, static_cast<std::uint8_t>(event.role));
      put<std::uint32_t>(to, 4, event.kind.value());
      put_list<12>(to, 16, list.subspan(done, count));
      writer.end_record(static_cast<std::uint8_t>(Kind::graph_task));
    }
    done += count;
  } while (done < list.size());
}

inline void encode(const GraphRunEvent& event, RecordWriter& writer) noexcept {
  if (std::byte* const to = writer.begin_record(); to != nullptr) {
    put<std::uint32_t>(to, 4, event.graph);
    put<std::uint32_t>(to, 16, event.step);
    put<std::int64_t>(to, 8, event.start.count());
    put<std::uint32_t>(to, 20, event.active);
    writer.end_record(static_cast<std::uint8_t>(Kind::graph_run));
  }
}

inline void encode(const CallEvent& event, RecordWriter& writer) noexcept {
  if (std::byte* const to = writer.begin_record(); to != nullptr) {
    put<std::uint8_t>(to, 1, static_cast<std::uint8_t>(event.what));
    put<std::uint16_t>(to, 2, writer.worker());
    put<std::uint32_t>(to, 4, event.function.value());
    put<std::uint32_t>(to, 8, event.site.value());
    put<std::uint32_t>(to, 12, event.communicator);
    put<std::int64_t>(to, 16, event.start.count());
    put<std::int64_t>(to, 24, event.end.count());
    put<std::uint64_t>(to, 32, event.bytes_given);
    put<std::uint64_t>(to, 40, event.bytes_got);
    put<std::uint32_t>(to, 48, event.peer);
    put<std::uint32_t>(to, 52, event.number);
    put<std::uint32_t>(to, 56, event.count);
    put<std::uint32_t>(to, 60, event.repeats);
    writer.end_record(static_cast<std::uint8_t>(Kind::call));
  }
}

inline void encode(const CommunicatorEvent& event, RecordWriter& writer) noexcept {
  const auto list = event.members;
  std::size_t done = 0;
  while (done < list.size()) {
    const std::size_t count = std::min<std::size_t>(list.size() - done, 12);
    if (std::byte* const to = writer.begin_record(); to != nullptr) {
      put<std::uint32_t>(to, 4, event.communicator);
      put(to, 8, static_cast<std::uint32_t>(event.first + list.size()));
      put(to, 12, static_cast<std::uint32_t>(event.first + done));
      put_list<12>(to, 16, list.subspan(done, count), nothing);
      writer.end_record(static_cast<std::uint8_t>(Kind::communicator));
    }
    done += count;
  }
}

inline void encode(const SharesEvent& event, RecordWriter& writer) noexcept {
  const auto list = event.bytes;
  std::size_t done = 0;
  while (done < list.size()) {
    const std::size_t count = std::min<std::size_t>(list.size() - done, 6);
    if (std::byte* const to = writer.begin_record(); to != nullptr) {
      put<std::uint32_t>(to, 4, event.call);
      put(to, 8, static_cast<std::uint32_t>(event.first + done));
      put(to, 12, static_cast<std::uint32_t>(count));
      put_list<6>(to, 16, list.subspan(done, count));
      writer.end_record(static_cast<std::uint8_t>(Kind::shares));
    }
    done += count;
  }
}

}  // namespace plait::trace::detail
