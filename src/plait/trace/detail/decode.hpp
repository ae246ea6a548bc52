// SPDX-License-Identifier: Apache-2.0
// Made from schema.toml by tools/make_trace_code.py: edit that.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "plait/trace/detail/bytes.hpp"
#include "plait/trace/detail/checks.hpp"
#include "plait/trace/detail/layout.hpp"
#include "plait/trace/event.hpp"

namespace plait::trace::detail {

template <class Take>
const char* decode_chunk(const std::byte* from, [[maybe_unused]] std::uint32_t rank_count, Take& take) {
  ChunkRecord event;
  event.thread = get<std::uint16_t>(from, 2);
  event.number = get<std::uint32_t>(from, 4);
  event.name = get_text(from, 8, text_bytes_max);
  return take_if_true(nullptr, event, take);
}

template <class Take>
const char* decode_name(const std::byte* from, [[maybe_unused]] std::uint32_t rank_count, Take& take) {
  NameRecord event;
  event.role = static_cast<Role>(get<std::uint8_t>(from, 1));
  event.length = get<std::uint16_t>(from, 2);
  event.number = get<std::uint32_t>(from, 4);
  event.text = get_text(from, 8, event.length);
  return take_if_true(event.role > Role::call_site    ? "name with an unknown role"
                      : event.length > text_bytes_max ? "name that is longer than its record"
                                                      : nullptr,
                      event,
                      take);
}

template <class Take>
const char* decode_task(const std::byte* from, [[maybe_unused]] std::uint32_t rank_count, Take& take) {
  TaskEvent event;
  event.kind = NameId{get<std::uint32_t>(from, 4)};
  event.role = static_cast<TaskRole>(get<std::uint8_t>(from, 1));
  event.object = get<std::uint64_t>(from, 8);
  event.ready = nanoseconds{get<std::int64_t>(from, 16)};
  event.start = nanoseconds{get<std::int64_t>(from, 24)};
  event.end = nanoseconds{get<std::int64_t>(from, 32)};
  event.id = get<std::uint64_t>(from, 40);
  event.released_by = get<std::uint64_t>(from, 48);
  event.step = get<std::uint32_t>(from, 56);
  event.place = get<std::uint32_t>(from, 60);
  return take_if_true(is_impossible({event.ready, event.start, event.end}) ? "task with an impossible time"
                      : event.end < event.start                            ? "task ends before it starts"
                      : is_bad_worker(get<std::uint16_t>(from, 2))         ? "task of an impossible worker"
                      : event.role > TaskRole::receive                     ? "task with an unknown role"
                      : event.role != TaskRole::compute && event.object >> 32U >= rank_count
                          ? "task of a rank that is not in the run"
                          : nullptr,
                      event,
                      take);
}

template <class Take>
const char* decode_message(const std::byte* from, [[maybe_unused]] std::uint32_t rank_count, Take& take) {
  MessageEvent event;
  event.direction = static_cast<MessageDirection>(get<std::uint8_t>(from, 1));
  event.protocol = static_cast<Protocol>(get<std::uint8_t>(from, 2));
  event.peer = Rank{get<std::uint32_t>(from, 4)};
  event.communicator = get<std::uint32_t>(from, 8);
  event.sequence = get<std::uint32_t>(from, 12);
  event.tag = Tag{get<std::uint64_t>(from, 16)};
  event.bytes = get<std::uint64_t>(from, 24);
  event.is_matched_by_order = (get<std::uint8_t>(from, 3) & 1U) != 0;
  event.is_unfinished = (get<std::uint8_t>(from, 3) & 2U) != 0;
  event.posted = nanoseconds{get<std::int64_t>(from, 32)};
  event.handed = nanoseconds{get<std::int64_t>(from, 40)};
  event.arrived = nanoseconds{get<std::int64_t>(from, 48)};
  event.completed = nanoseconds{get<std::int64_t>(from, 56)};
  return take_if_true(
      is_impossible({event.posted, event.handed, event.arrived, event.completed}) ? "message with an impossible time"
      : event.completed != nanoseconds{} && event.completed < event.posted        ? "message ends before it starts"
      : event.direction > MessageDirection::received                              ? "message with an unknown direction"
      : event.protocol > Protocol::not_known                                      ? "message with an unknown protocol"
      : !(event.peer.value() == nothing && event.is_unfinished) && event.peer.value() >= rank_count
          ? "message of a rank that is not in the run"
      : event.bytes > size_max ? "message of an impossible size"
                               : nullptr,
      event,
      take);
}

template <class Take>
const char* decode_span(const std::byte* from, [[maybe_unused]] std::uint32_t rank_count, Take& take) {
  SpanEvent event;
  event.name = NameId{get<std::uint32_t>(from, 4)};
  event.object = get<std::uint64_t>(from, 8);
  event.start = nanoseconds{get<std::int64_t>(from, 16)};
  event.end = nanoseconds{get<std::int64_t>(from, 24)};
  event.step = get<std::uint32_t>(from, 32);
  return take_if_true(is_impossible({event.start, event.end})      ? "span with an impossible time"
                      : event.end < event.start                    ? "span ends before it starts"
                      : is_bad_worker(get<std::uint16_t>(from, 2)) ? "span of an impossible worker"
                                                                   : nullptr,
                      event,
                      take);
}

template <class Take>
const char* decode_poll_gap(const std::byte* from, [[maybe_unused]] std::uint32_t rank_count, Take& take) {
  PollGapEvent event;
  event.start = nanoseconds{get<std::int64_t>(from, 8)};
  event.end = nanoseconds{get<std::int64_t>(from, 16)};
  return take_if_true(is_impossible({event.start, event.end})      ? "poll gap with an impossible time"
                      : event.end < event.start                    ? "poll gap ends before it starts"
                      : is_bad_worker(get<std::uint16_t>(from, 2)) ? "poll gap of an impossible worker"
                                                                   : nullptr,
                      event,
                      take);
}

template <class Take>
const char* decode_counter(const std::byte* from, [[maybe_unused]] std::uint32_t rank_count, Take& take) {
  CounterEvent event;
  event.name = NameId{get<std::uint32_t>(from, 4)};
  event.time = nanoseconds{get<std::int64_t>(from, 8)};
  event.value = get<double>(from, 16);
  event.step = get<std::uint32_t>(from, 24);
  return take_if_true(is_impossible({event.time})   ? "counter with an impossible time"
                      : !std::isfinite(event.value) ? "counter whose value is not finite"
                                                    : nullptr,
                      event,
                      take);
}

template <class Take>
const char* decode_clock(const std::byte* from, [[maybe_unused]] std::uint32_t rank_count, Take& take) {
  ClockEvent event;
  event.time = nanoseconds{get<std::int64_t>(from, 8)};
  event.offset = nanoseconds{get<std::int64_t>(from, 16)};
  event.round_trip = nanoseconds{get<std::int64_t>(from, 24)};
  return take_if_true(is_impossible({event.time, event.offset, event.round_trip}) ? "clock with an impossible time"
                      : event.round_trip < nanoseconds{}                          ? "clock with a negative round trip"
                                                                                  : nullptr,
                      event,
                      take);
}

template <class Take>
const char* decode_graph_task(const std::byte* from, [[maybe_unused]] std::uint32_t rank_count, Take& take) {
  GraphTaskEvent event;
  event.graph = get<std::uint32_t>(from, 8);
  event.place = get<std::uint32_t>(from, 12);
  event.role = static_cast<TaskRole>(get<std::uint8_t>(from, 1));
  event.kind = NameId{get<std::uint32_t>(from, 4)};
  const auto list = get_list<std::uint32_t, 12>(from, 16);
  const std::size_t count = get<std::uint16_t>(from, 2);
  event.later = std::span{list}.first(std::min<std::size_t>(count, list.size()));
  return take_if_true(event.role > TaskRole::join ? "graph task with an unknown role"
                      : count > list.size()       ? "graph task with more later than a record holds"
                                                  : nullptr,
                      event,
                      take);
}

template <class Take>
const char* decode_graph_run(const std::byte* from, [[maybe_unused]] std::uint32_t rank_count, Take& take) {
  GraphRunEvent event;
  event.graph = get<std::uint32_t>(from, 4);
  event.step = get<std::uint32_t>(from, 16);
  event.start = nanoseconds{get<std::int64_t>(from, 8)};
  event.active = get<std::uint32_t>(from, 20);
  return take_if_true(is_impossible({event.start}) ? "graph run with an impossible time" : nullptr, event, take);
}

template <class Take>
const char* decode_call(const std::byte* from, [[maybe_unused]] std::uint32_t rank_count, Take& take) {
  CallEvent event;
  event.what = static_cast<CallClass>(get<std::uint8_t>(from, 1));
  event.function = NameId{get<std::uint32_t>(from, 4)};
  event.site = NameId{get<std::uint32_t>(from, 8)};
  event.communicator = get<std::uint32_t>(from, 12);
  event.start = nanoseconds{get<std::int64_t>(from, 16)};
  event.end = nanoseconds{get<std::int64_t>(from, 24)};
  event.bytes_given = get<std::uint64_t>(from, 32);
  event.bytes_got = get<std::uint64_t>(from, 40);
  event.peer = get<std::uint32_t>(from, 48);
  event.number = get<std::uint32_t>(from, 52);
  event.count = get<std::uint32_t>(from, 56);
  event.repeats = get<std::uint32_t>(from, 60);
  return take_if_true(is_impossible({event.start, event.end})                ? "call with an impossible time"
                      : event.end < event.start                              ? "call ends before it starts"
                      : event.what > CallClass::begun_collective             ? "call with an unknown class"
                      : is_bad_worker(get<std::uint16_t>(from, 2))           ? "call of an impossible worker"
                      : event.bytes_given > size_max                         ? "call of an impossible size"
                      : event.bytes_got > size_max                           ? "call of an impossible size"
                      : !(event.peer == nothing) && event.peer >= rank_count ? "call of a rank that is not in the run"
                                                                             : nullptr,
                      event,
                      take);
}

template <class Take>
const char* decode_communicator(const std::byte* from, [[maybe_unused]] std::uint32_t rank_count, Take& take) {
  CommunicatorEvent event;
  event.communicator = get<std::uint32_t>(from, 4);
  event.size = get<std::uint32_t>(from, 8);
  event.first = get<std::uint32_t>(from, 12);
  const auto list = get_list<std::uint32_t, 12>(from, 16);
  const std::size_t count = std::min<std::size_t>(event.size - std::min(event.first, event.size), 12);
  event.members = std::span{list}.first(std::min<std::size_t>(count, list.size()));
  return take_if_true(event.size > 2 * std::uint64_t{rank_count} ? "communicator of more members than the run has ranks"
                      : event.first >= event.size                ? "communicator with a member beyond its size"
                      : has_other_rank(event.members, rank_count) ? "communicator of a rank that is not in the run"
                                                                  : nullptr,
                      event,
                      take);
}

template <class Take>
const char* decode_shares(const std::byte* from, [[maybe_unused]] std::uint32_t rank_count, Take& take) {
  SharesEvent event;
  event.call = get<std::uint32_t>(from, 4);
  event.first = get<std::uint32_t>(from, 8);
  const auto list = get_list<std::uint64_t, 6>(from, 16);
  const std::size_t count = get<std::uint32_t>(from, 12);
  event.bytes = std::span{list}.first(std::min<std::size_t>(count, list.size()));
  return take_if_true(count > list.size() ? "shares with more bytes than a record holds"
                      : event.first + count > 2 * std::uint64_t{rank_count}
                          ? "shares of more members than the run has ranks"
                      : has_impossible_size(event.bytes) ? "shares of an impossible size"
                                                         : nullptr,
                      event,
                      take);
}

/// Decodes the record at `from` and calls `take` with its event, whose texts and lists last for the call.
/// Returns what about it cannot be true in a run of `rank_count` ranks, in which case it does not call;
/// else nullptr, also for kinds of later versions.
template <class Take>
[[nodiscard]] const char* decode(const std::byte* from, std::uint32_t rank_count, Take&& take) {
  switch (static_cast<Kind>(from[0])) {
    case Kind::chunk:
      return decode_chunk(from, rank_count, take);
    case Kind::name:
      return decode_name(from, rank_count, take);
    case Kind::task:
      return decode_task(from, rank_count, take);
    case Kind::message:
      return decode_message(from, rank_count, take);
    case Kind::span:
      return decode_span(from, rank_count, take);
    case Kind::poll_gap:
      return decode_poll_gap(from, rank_count, take);
    case Kind::counter:
      return decode_counter(from, rank_count, take);
    case Kind::clock:
      return decode_clock(from, rank_count, take);
    case Kind::graph_task:
      return decode_graph_task(from, rank_count, take);
    case Kind::graph_run:
      return decode_graph_run(from, rank_count, take);
    case Kind::call:
      return decode_call(from, rank_count, take);
    case Kind::communicator:
      return decode_communicator(from, rank_count, take);
    case Kind::shares:
      return decode_shares(from, rank_count, take);
    case Kind::none:
      break;
  }
  return nullptr;
}

/// The latest time in an event.
inline nanoseconds last_time(const TaskEvent& event) {
  return std::max({event.ready, event.start, event.end});
}
inline void add(RankEvents& events, [[maybe_unused]] std::uint32_t thread, const TaskEvent& event) {
  events.tasks.push_back({thread, event});
}
inline nanoseconds last_time(const MessageEvent& event) {
  return std::max({event.posted, event.handed, event.arrived, event.completed});
}
inline void add(RankEvents& events, [[maybe_unused]] std::uint32_t thread, const MessageEvent& event) {
  events.messages.push_back({thread, event});
}
inline nanoseconds last_time(const SpanEvent& event) {
  return std::max({event.start, event.end});
}
inline void add(RankEvents& events, [[maybe_unused]] std::uint32_t thread, const SpanEvent& event) {
  events.spans.push_back({thread, event});
}
inline nanoseconds last_time(const PollGapEvent& event) {
  return std::max({event.start, event.end});
}
inline void add(RankEvents& events, [[maybe_unused]] std::uint32_t thread, const PollGapEvent& event) {
  events.gaps.push_back({thread, event});
}
inline nanoseconds last_time(const CounterEvent& event) {
  return event.time;
}
inline void add(RankEvents& events, [[maybe_unused]] std::uint32_t thread, const CounterEvent& event) {
  events.counters.push_back({thread, event});
}
inline nanoseconds last_time(const ClockEvent& event) {
  return event.time;
}
inline void add(RankEvents& events, [[maybe_unused]] std::uint32_t thread, const ClockEvent& event) {
  events.clocks.push_back(event);
}
inline nanoseconds last_time(const GraphTaskEvent&) {
  return nanoseconds{};
}
inline nanoseconds last_time(const GraphRunEvent& event) {
  return event.start;
}
inline void add(RankEvents& events, [[maybe_unused]] std::uint32_t thread, const GraphRunEvent& event) {
  events.graph_runs.push_back(event);
}
inline nanoseconds last_time(const CallEvent& event) {
  return std::max({event.start, event.end});
}
inline void add(RankEvents& events, [[maybe_unused]] std::uint32_t thread, const CallEvent& event) {
  events.calls.push_back({thread, event});
}
inline nanoseconds last_time(const CommunicatorEvent&) {
  return nanoseconds{};
}
inline nanoseconds last_time(const SharesEvent&) {
  return nanoseconds{};
}

}  // namespace plait::trace::detail
