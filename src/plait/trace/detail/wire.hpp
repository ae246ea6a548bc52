// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

/// The bytes of a rank's trace file, version 1, as docs/trace-format.md lays them down.
namespace plait::trace::wire {

static_assert(std::endian::native == std::endian::little, "records are stored as they stand");

inline constexpr std::array<char, 8> magic = {'P', 'L', 'A', 'I', 'T', 'T', 'R', 'C'};
inline constexpr std::uint32_t version = 1;
inline constexpr std::size_t header_bytes = 4096;
inline constexpr std::size_t record_bytes = 64;
inline constexpr std::size_t chunk_bytes_min = 128;
inline constexpr std::uint16_t no_worker = 65535;

enum class Kind : std::uint8_t {
  none,
  chunk,
  name,
  task,
  message,
  span,
  poll_gap,
  counter,
  clock,
  graph_task,
  graph_run,
  call,
  communicator,
  shares,
};

struct Header {
  std::array<char, 8> magic = wire::magic;
  std::uint32_t version = wire::version;
  std::uint32_t rank = 0;
  std::uint32_t rank_count = 0;
  std::uint32_t record_bytes = wire::record_bytes;
  std::uint32_t chunk_bytes = 0;
  std::uint32_t reserved = 0;
  std::int64_t wall_clock_ns = 0;
  std::int64_t clock_ns = 0;
};
static_assert(sizeof(Header) == 48);

// Each record begins with its kind, which the recorder sets after all the rest is there.
struct Chunk {
  std::uint8_t kind = 0;
  std::uint8_t reserved = 0;
  std::uint16_t thread = 0;
  std::uint32_t number = 0;
  std::array<char, 56> name{};
};

struct Name {
  std::uint8_t kind = 0;
  std::uint8_t role = 0;
  std::uint16_t text_bytes = 0;
  std::uint32_t number = 0;
  std::array<char, 56> text{};
};

struct Task {
  std::uint8_t kind = 0;
  std::uint8_t flags = 0;
  std::uint16_t worker = 0;
  std::uint32_t name = 0;
  std::uint64_t object = 0;
  std::int64_t ready_ns = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t task = 0;
  std::uint64_t caused_by = 0;
  std::uint32_t step = 0;
  std::uint32_t place = 0;
};

inline constexpr std::uint8_t message_matched_by_order = 1;
inline constexpr std::uint8_t message_unfinished = 2;

struct Message {
  std::uint8_t kind = 0;
  std::uint8_t direction = 0;
  std::uint8_t protocol = 0;
  std::uint8_t flags = 0;
  std::uint32_t peer = 0;
  std::uint32_t communicator = 0;
  std::uint32_t sequence = 0;
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;
  std::int64_t posted_ns = 0;
  std::int64_t handed_ns = 0;
  std::int64_t moved_ns = 0;
  std::int64_t completed_ns = 0;
};

struct Span {
  std::uint8_t kind = 0;
  std::uint8_t reserved = 0;
  std::uint16_t worker = 0;
  std::uint32_t name = 0;
  std::uint64_t object = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t step = 0;
  std::array<std::uint8_t, 28> padding{};
};

struct PollGap {
  std::uint8_t kind = 0;
  std::uint8_t reserved = 0;
  std::uint16_t worker = 0;
  std::uint32_t reserved_too = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::array<std::uint8_t, 40> padding{};
};

struct Counter {
  std::uint8_t kind = 0;
  std::array<std::uint8_t, 3> reserved{};
  std::uint32_t name = 0;
  std::int64_t time_ns = 0;
  double value = 0;
  std::uint32_t step = 0;
  std::array<std::uint8_t, 36> padding{};
};

struct Clock {
  std::uint8_t kind = 0;
  std::array<std::uint8_t, 7> reserved{};
  std::int64_t time_ns = 0;
  std::int64_t offset_ns = 0;
  std::int64_t round_trip_ns = 0;
  std::array<std::uint8_t, 32> padding{};
};

inline constexpr std::size_t later_in_record = 12;

struct GraphTask {
  std::uint8_t kind = 0;
  std::uint8_t part = 0;
  std::uint16_t later_count = 0;
  std::uint32_t name = 0;
  std::uint32_t graph = 0;
  std::uint32_t place = 0;
  std::array<std::uint32_t, later_in_record> later{};
};

struct GraphRun {
  std::uint8_t kind = 0;
  std::array<std::uint8_t, 3> reserved{};
  std::uint32_t graph = 0;
  std::int64_t start_ns = 0;
  std::uint32_t step = 0;
  std::uint32_t active_count = 0;
  std::array<std::uint8_t, 40> padding{};
};

struct Call {
  std::uint8_t kind = 0;
  std::uint8_t what = 0;
  std::uint16_t thread = 0;
  std::uint32_t name = 0;
  std::uint32_t site = 0;
  std::uint32_t communicator = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t bytes_given = 0;
  std::uint64_t bytes_got = 0;
  std::uint32_t peer = 0;
  std::uint32_t number = 0;
  std::uint32_t count = 0;
  std::uint32_t repeats = 0;
};

inline constexpr std::size_t members_in_record = 12;

struct Communicator {
  std::uint8_t kind = 0;
  std::array<std::uint8_t, 3> reserved{};
  std::uint32_t communicator = 0;
  std::uint32_t size = 0;
  std::uint32_t first = 0;
  std::array<std::uint32_t, members_in_record> members{};
};

inline constexpr std::size_t shares_in_record = 6;

struct Shares {
  std::uint8_t kind = 0;
  std::array<std::uint8_t, 3> reserved{};
  std::uint32_t call = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::array<std::uint64_t, shares_in_record> bytes{};
};

template <class T>
concept Record = std::is_trivially_copyable_v<T> && sizeof(T) == record_bytes && alignof(T) <= 8;

static_assert(Record<Chunk> && Record<Name> && Record<Task> && Record<Message> && Record<Span> && Record<PollGap> &&
              Record<Counter> && Record<Clock> && Record<GraphTask> && Record<GraphRun> && Record<Call> &&
              Record<Communicator> && Record<Shares>);
static_assert(offsetof(Task, object) == 8 && offsetof(Task, place) == 60);
static_assert(offsetof(Message, tag) == 16 && offsetof(Message, completed_ns) == 56);
static_assert(offsetof(Span, step) == 32 && offsetof(PollGap, end_ns) == 16);
static_assert(offsetof(Counter, step) == 24 && offsetof(Clock, round_trip_ns) == 24);
static_assert(offsetof(GraphTask, later) == 16 && offsetof(GraphRun, step) == 16);
static_assert(offsetof(Call, start_ns) == 16 && offsetof(Call, count) == 56);
static_assert(offsetof(Communicator, members) == 16 && offsetof(Shares, bytes) == 16);

}  // namespace plait::trace::wire
