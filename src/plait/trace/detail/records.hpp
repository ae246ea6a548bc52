// SPDX-License-Identifier: Apache-2.0
// Made from schema.toml by tools/make_trace_code.py: edit that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "plait/trace/detail/layout.hpp"
#include "plait/trace/event.hpp"

/// The records: what encode.hpp writes and decode.hpp reads, each field at its offset.
namespace plait::trace::detail {

template <class Described, Kind number>
struct RecordOf {
  using Event = Described;
  static constexpr Kind kind = number;
};
template <class... All>
struct RecordList {};
using Records = RecordList<RecordOf<ChunkRecord, Kind::chunk>,
                           RecordOf<NameRecord, Kind::name>,
                           RecordOf<TaskEvent, Kind::task>,
                           RecordOf<MessageEvent, Kind::message>,
                           RecordOf<SpanEvent, Kind::span>,
                           RecordOf<PollGapEvent, Kind::poll_gap>,
                           RecordOf<CounterEvent, Kind::counter>,
                           RecordOf<ClockEvent, Kind::clock>,
                           RecordOf<GraphTaskEvent, Kind::graph_task>,
                           RecordOf<GraphRunEvent, Kind::graph_run>,
                           RecordOf<CallEvent, Kind::call>,
                           RecordOf<CommunicatorEvent, Kind::communicator>,
                           RecordOf<SharesEvent, Kind::shares>,
                           RecordOf<EngineEvent, Kind::engine>,
                           RecordOf<OpenRegionEvent, Kind::open_region>,
                           RecordOf<SampleEvent, Kind::sample>,
                           RecordOf<CountEvent, Kind::count>,
                           RecordOf<SumEvent, Kind::sum>,
                           RecordOf<SumTimesEvent, Kind::sum_times>,
                           RecordOf<WindowEvent, Kind::window>,
                           RecordOf<ProfileStateEvent, Kind::profile_state>,
                           RecordOf<FlowTaskEvent, Kind::flow_task>,
                           RecordOf<GraphClaimsEvent, Kind::graph_claims>,
                           RecordOf<EngineSumEvent, Kind::engine_sum>,
                           RecordOf<CollectiveLayoutEvent, Kind::collective_layout>,
                           RecordOf<TaskOrderEvent, Kind::task_order>,
                           RecordOf<BackgroundTimeEvent, Kind::background_time>,
                           RecordOf<BlockChecksumRecord, Kind::block_checksum>,
                           RecordOf<RecorderCostsEvent, Kind::recorder_costs>>;

/// The kind of the record that an event becomes.
template <class Event, class... All>
[[nodiscard]] consteval Kind kind_of(RecordList<All...> /*all*/) {
  Kind kind = Kind::none;
  ((kind = std::is_same_v<Event, typename All::Event> ? All::kind : kind), ...);
  return kind;
}

/// The list of an event, which takes the rest of its record, and of further ones if it is longer.
template <class Event>
inline constexpr std::nullptr_t list_of = nullptr;
template <>
inline constexpr auto list_of<GraphTaskEvent> = &GraphTaskEvent::later;
template <>
inline constexpr auto list_of<CommunicatorEvent> = &CommunicatorEvent::members;
template <>
inline constexpr auto list_of<SharesEvent> = &SharesEvent::bytes;
template <>
inline constexpr auto list_of<SumTimesEvent> = &SumTimesEvent::times;
template <>
inline constexpr auto list_of<FlowTaskEvent> = &FlowTaskEvent::accesses;
template <>
inline constexpr auto list_of<GraphClaimsEvent> = &GraphClaimsEvent::claims;
template <>
inline constexpr auto list_of<TaskOrderEvent> = &TaskOrderEvent::earlier;
/// The entries of it in one record.
template <class Event>
inline constexpr std::size_t list_length = 0;
template <>
inline constexpr std::size_t list_length<GraphTaskEvent> = 12;
template <>
inline constexpr std::size_t list_length<CommunicatorEvent> = 12;
template <>
inline constexpr std::size_t list_length<SharesEvent> = 6;
template <>
inline constexpr std::size_t list_length<SumTimesEvent> = 12;
template <>
inline constexpr std::size_t list_length<FlowTaskEvent> = 6;
template <>
inline constexpr std::size_t list_length<GraphClaimsEvent> = 12;
template <>
inline constexpr std::size_t list_length<TaskOrderEvent> = 4;
/// The most bytes that it takes.
inline constexpr std::size_t list_bytes = 48;
/// Whether an empty list leaves a record, too.
template <class Event>
inline constexpr bool records_empty_list =
    std::is_same_v<Event, GraphTaskEvent> || std::is_same_v<Event, FlowTaskEvent> ||
    std::is_same_v<Event, TaskOrderEvent>;

// Each `describe` calls a member of `record` for each field of an event: a writer's or a reader's.

template <class Record>
void describe(Record& record, ChunkRecord& event) {
  record.begin("chunk");
  record.value(2, event.thread);
  record.value(4, event.number);
  record.text(8, event.name, text_bytes_max);
}

template <class Record>
void describe(Record& record, NameRecord& event) {
  record.begin("name");
  record.choice(1, event.role, Role::call_site, "with an unknown role");
  record.value(2, event.length);
  record.value(4, event.number);
  record.text(8, event.text, event.length);
}

template <class Record>
void describe(Record& record, TaskEvent& event) {
  record.begin("task");
  record.time(16, event.ready);
  record.time(24, event.start);
  record.time(32, event.end);
  record.interval(event.start, event.end, true);
  record.worker(2);
  record.value(4, event.kind);
  record.choice(1, event.role, TaskRole::receive, "with an unknown role");
  record.object(8, event.object, event.role);
  record.value(40, event.id);
  record.value(48, event.released_by);
  record.value(56, event.step);
  record.value(60, event.place);
}

template <class Record>
void describe(Record& record, MessageEvent& event) {
  record.begin("message");
  record.time(32, event.posted);
  record.time(40, event.handed);
  record.time(48, event.arrived);
  record.time(56, event.completed);
  record.interval(event.posted, event.completed, event.completed != nanoseconds{});
  record.flag(3, event.is_matched_by_order, 1U);
  record.flag(3, event.is_unfinished, 2U);
  record.flag(3, event.is_non_contiguous, 4U);
  record.choice(1, event.direction, MessageDirection::received, "with an unknown direction");
  record.choice(2, event.protocol, Protocol::not_known, "with an unknown protocol");
  record.rank(4, event.peer, event.is_unfinished);
  record.value(8, event.communicator);
  record.value(12, event.sequence);
  record.value(16, event.tag);
  record.size(24, event.bytes);
}

template <class Record>
void describe(Record& record, SpanEvent& event) {
  record.begin("span");
  record.time(16, event.start);
  record.time(24, event.end);
  record.interval(event.start, event.end, true);
  record.worker(2);
  record.value(4, event.name);
  record.value(8, event.object);
  record.value(32, event.step);
}

template <class Record>
void describe(Record& record, PollGapEvent& event) {
  record.begin("poll gap");
  record.time(8, event.start);
  record.time(16, event.end);
  record.interval(event.start, event.end, true);
  record.worker(2);
}

template <class Record>
void describe(Record& record, CounterEvent& event) {
  record.begin("counter");
  record.time(8, event.time);
  record.value(4, event.name);
  record.value(16, event.value);
  record.value(24, event.step);
}

template <class Record>
void describe(Record& record, ClockEvent& event) {
  record.begin("clock");
  record.time(8, event.time);
  record.shift(16, event.offset);
  record.duration(24, event.round_trip, "with a negative round trip");
}

template <class Record>
void describe(Record& record, GraphTaskEvent& event) {
  record.begin("graph task");
  record.count(2, static_cast<std::uint16_t>(event.later.size()));
  record.value(8, event.graph);
  record.value(12, event.place);
  record.choice(1, event.role, TaskRole::join, "with an unknown role");
  record.value(4, event.kind);
  record.list(16, event.later);
}

template <class Record>
void describe(Record& record, GraphRunEvent& event) {
  record.begin("graph run");
  record.time(8, event.start);
  record.value(4, event.graph);
  record.value(16, event.step);
  record.value(20, event.active);
}

template <class Record>
void describe(Record& record, CallEvent& event) {
  record.begin("call");
  record.time(16, event.start);
  record.time(24, event.end);
  record.interval(event.start, event.end, true);
  record.choice(1, event.what, CallClass::begun_collective, "with an unknown class");
  record.worker(2);
  record.value(4, event.function);
  record.value(8, event.site);
  record.value(12, event.communicator);
  record.size(32, event.bytes_given);
  record.size(40, event.bytes_got);
  record.rank(48, event.peer, true);
  record.value(52, event.number);
  record.value(56, event.count);
  record.value(60, event.repeats);
}

template <class Record>
void describe(Record& record, CommunicatorEvent& event) {
  record.begin("communicator");
  record.value(4, event.communicator);
  record.value(8, event.size);
  record.value(12, event.first);
  record.part_of(event.first, event.size);
  record.ranks(16, event.members);
}

template <class Record>
void describe(Record& record, SharesEvent& event) {
  record.begin("shares");
  record.value(4, event.call);
  record.value(8, event.first);
  record.count(12, static_cast<std::uint32_t>(event.bytes.size()));
  record.sizes(16, event.bytes);
  record.part(event.first);
}

template <class Record>
void describe(Record& record, EngineEvent& event) {
  record.begin("engine");
  record.time(8, event.start);
  record.flag(3, event.carries_calls, 1U);
  record.value(4, event.workers);
}

template <class Record>
void describe(Record& record, OpenRegionEvent& event) {
  record.begin("open region");
  record.time(8, event.start);
  record.time(16, event.end);
  record.interval(event.start, event.end, true);
  record.worker(2);
  record.value(4, event.name);
}

template <class Record>
void describe(Record& record, SampleEvent& event) {
  record.begin("sample");
  record.time(8, event.time);
  record.duration(24, event.interval, "with a negative interval");
  record.value(2, event.of_worker);
  record.value(4, event.thread);
  record.value(16, event.site);
}

template <class Record>
void describe(Record& record, CountEvent& event) {
  record.begin("count");
  record.time(16, event.start);
  record.time(24, event.end);
  record.interval(event.start, event.end, true);
  record.value(2, event.of_worker);
  record.value(4, event.counter);
  record.value(8, event.region);
  record.value(12, event.task);
  record.value(32, event.value);
  record.value(40, event.id);
}

template <class Record>
void describe(Record& record, SumEvent& event) {
  record.begin("sum");
  record.duration(32, event.time, "with a negative time");
  record.duration(40, event.time_max, "with a negative time max");
  record.choice(1, event.of, SumOf::received, "with an unknown of");
  record.worker(2);
  record.value(4, event.function);
  record.value(8, event.site);
  record.rank(12, event.peer, true);
  record.value(16, event.communicator);
  record.choice(20, event.what, CallClass::begun_collective, "with an unknown class");
  record.value(21, event.size_class);
  record.choice(22, event.folded, Folded::class_only, "with an unknown folded");
  record.value(24, event.count);
  record.value(48, event.bytes_given);
  record.value(56, event.bytes_got);
}

template <class Record>
void describe(Record& record, SumTimesEvent& event) {
  record.begin("sum times");
  record.count(2, static_cast<std::uint16_t>(event.times.size()));
  record.value(4, event.low);
  record.list(16, event.times);
}

template <class Record>
void describe(Record& record, WindowEvent& event) {
  record.begin("window");
  record.time(8, event.start);
  record.time(16, event.end);
  record.interval(event.start, event.end, event.end != nanoseconds{});
  record.value(4, event.number);
}

template <class Record>
void describe(Record& record, ProfileStateEvent& event) {
  record.begin("profile state");
  record.time(8, event.last);
  record.value(16, event.lost);
}

template <class Record>
void describe(Record& record, FlowTaskEvent& event) {
  record.begin("flow task");
  record.time(16, event.submitted);
  record.count(2, static_cast<std::uint16_t>(event.accesses.size()));
  record.choice(1, event.role, TaskRole::receive, "with an unknown role");
  record.value(4, event.communicator);
  record.value(8, event.id);
  record.value(24, event.tag);
  record.value(32, event.priority);
  record.list(40, event.accesses);
}

template <class Record>
void describe(Record& record, GraphClaimsEvent& event) {
  record.begin("graph claims");
  record.count(2, static_cast<std::uint16_t>(event.claims.size()));
  record.value(8, event.graph);
  record.value(12, event.place);
  record.list(16, event.claims);
}

template <class Record>
void describe(Record& record, EngineSumEvent& event) {
  record.begin("engine sum");
  record.duration(32, event.time, "with a negative time");
  record.duration(40, event.time_max, "with a negative time max");
  record.choice(1, event.of, EngineSumOf::poll_gaps, "with an unknown of");
  record.worker(2);
  record.value(4, event.kind);
  record.value(8, event.span);
  record.rank(12, event.peer, true);
  record.value(16, event.communicator);
  record.choice(20, event.role, TaskRole::receive, "with an unknown role");
  record.value(21, event.size_class);
  record.choice(22, event.folded, Folded::class_only, "with an unknown folded");
  record.choice(23, event.protocol, Protocol::not_known, "with an unknown protocol");
  record.value(24, event.count);
  record.value(48, event.bytes);
}

template <class Record>
void describe(Record& record, CollectiveLayoutEvent& event) {
  record.begin("collective layout");
  record.flag(1, event.has_gaps_given, 1U);
  record.flag(1, event.has_gaps_got, 2U);
  record.value(4, event.call);
}

template <class Record>
void describe(Record& record, TaskOrderEvent& event) {
  record.begin("task order");
  record.time(16, event.time);
  record.time(24, event.submitted);
  record.count(2, static_cast<std::uint16_t>(event.earlier.size()));
  record.value(8, event.id);
  record.list(32, event.earlier);
}

template <class Record>
void describe(Record& record, BackgroundTimeEvent& event) {
  record.begin("background time");
  record.time(8, event.start);
  record.time(16, event.end);
  record.duration(24, event.took, "with a negative took");
  record.interval(event.start, event.end, true);
}

template <class Record>
void describe(Record& record, BlockChecksumRecord& event) {
  record.begin("block checksum");
  record.value(8, event.sum);
  record.value(16, event.sum_of_sums);
}

template <class Record>
void describe(Record& record, RecorderCostsEvent& event) {
  record.begin("recorder costs");
  record.duration(8, event.call, "with a negative call");
  record.duration(16, event.inside, "with a negative inside");
  record.duration(24, event.poll, "with a negative poll");
  record.duration(32, event.message, "with a negative message");
  record.duration(40, event.request, "with a negative request");
}

}  // namespace plait::trace::detail
