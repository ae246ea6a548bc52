// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"

/// What a trace is made of, as the layers above tell it. Times count from the recorder's time 0
/// (`Recorder::now()`); 0 means "not known" for times other than starts. What each field means is
/// told in full in docs/trace-format.md.
namespace plait::trace {

/// A name that was registered with `Recorder::name`.
using NameId = Id<struct NameTag>;

/// What a name is for; names of different roles are numbered apart.
enum class Role : std::uint8_t { task, span, counter, function, call_site };
inline constexpr std::uint8_t role_count = 5;

/// Longest text of a name or of a thread's name in a file; longer ones are cut, at a character.
inline constexpr std::size_t text_bytes_max = 56;

/// What a task does. Joins, which order others and do nothing, stand in graphs only: they leave no `TaskEvent`.
enum class TaskPart : std::uint8_t { compute = 0, send = 1, receive = 2, join = 3 };

struct TaskEvent {
  NameId kind;  ///< Of `Role::task`.
  TaskPart part = TaskPart::compute;
  /// What was worked on; of a send or receive task: `message_object(peer, sequence)`.
  std::uint64_t object = 0;
  nanoseconds ready{};
  nanoseconds start{};  ///< Of a send or receive task: when it was posted.
  nanoseconds end{};
  std::uint64_t task = 0;       ///< Unique within the rank's file, from 1.
  std::uint64_t caused_by = 0;  ///< The task whose end made it ready or that spawned it; 0 = none.
  std::uint32_t step = 0;
  std::uint32_t place = 0;  ///< In its graph, from 1; 0 = in none.
};

/// A task of a graph, and what must come after it. Told once for each graph, not at each run.
struct GraphTaskEvent {
  std::uint32_t graph = 0;  ///< Number of the graph on its rank, from 1.
  std::uint32_t place = 0;  ///< Of the task in the graph, from 1.
  TaskPart part = TaskPart::compute;
  NameId kind;                           ///< Of `Role::task`.
  std::span<const std::uint32_t> later;  ///< Places of the tasks that start after it. Borrowed for the call.
};

/// A run of a graph begins.
struct GraphRunEvent {
  std::uint32_t graph = 0;
  std::uint32_t step = 0;  ///< Of the tasks that run.
  nanoseconds start{};
  std::uint32_t active = 0;  ///< How many of its tasks take part.
};

/// The object of a send or receive task: its message.
[[nodiscard]] constexpr std::uint64_t message_object(Rank peer, std::uint32_t sequence) noexcept {
  return std::uint64_t{peer.value()} << 32U | sequence;
}

enum class MessageDirection : std::uint8_t { sent, received };
enum class Protocol : std::uint8_t { eager, rendezvous, active_message, not_known };

struct MessageEvent {
  MessageDirection direction = MessageDirection::sent;
  Protocol protocol = Protocol::eager;
  Rank peer;  ///< Destination of a send, source of a receive.
  std::uint32_t communicator = 0;
  std::uint32_t sequence = 0;  ///< Within (source, destination, communicator).
  Tag tag;
  std::uint64_t bytes = 0;
  /// Of a program recorded from outside: `sequence` is the number of the call that posted it (`CallEvent::number`)
  /// until `match_by_order` has made it what it is elsewhere.
  bool is_matched_by_order = false;
  bool is_unfinished = false;  ///< Had not completed when the record ended.
  nanoseconds posted{};        ///< The program asked.
  nanoseconds handed{};        ///< Send: handed to the network. Receive: matched.
  nanoseconds moved{};         ///< Send: left, the buffer is free. Receive: all bytes are here.
  nanoseconds completed{};     ///< The program was told.
};

/// What a call of a communication library does.
enum class CallClass : std::uint8_t {
  other,
  begins_message,  ///< MPI_Isend, MPI_Irecv, MPI_Start, ...
  completes,       ///< Waits, tests, probes.
  message,         ///< Sends or receives and waits for it.
  collective,
  begins_collective,
  one_sided,
  sets_up,  ///< Communicators, types, windows.
  file,
  begins_or_ends,    ///< MPI_Init, MPI_Finalize.
  begun_collective,  ///< No call of its own: from the call that began it to when the program was told of its end.
};

/// Names nothing, where ranks, communicators and call sites are plain numbers.
inline constexpr std::uint32_t nothing = 0xffff'ffff;

/// A call of a communication library, in a program recorded from outside; told when it returns.
struct CallEvent {
  CallClass what = CallClass::other;
  NameId function;  ///< Of `Role::function`.
  NameId site;      ///< Of `Role::call_site`; may name nothing.
  std::uint32_t communicator = nothing;
  nanoseconds start{};
  nanoseconds end{};
  std::uint64_t bytes_given = 0;
  std::uint64_t bytes_got = 0;
  std::uint32_t peer = nothing;  ///< Or root; a rank of the run.
  std::uint32_t number = 0;      ///< Rises in the order of posting within the rank, from 1.
  /// Of a collective: how many came before it on its communicator. Of a wait, test: how many operations it completed.
  std::uint32_t count = 0;
  /// Tests and probes that found nothing: how many more like it followed at once, up to `end`, and have no record.
  std::uint32_t repeats = 0;
};

/// Who is in a communicator, as ranks of the run, in its order; that of all ranks (0) need not be told.
struct CommunicatorEvent {
  std::uint32_t communicator = 0;
  std::span<const std::uint32_t> members;  ///< Borrowed for the call.
};

/// What a vector collective gives to each member.
struct SharesEvent {
  std::uint32_t call = 0;                ///< Its number.
  std::uint32_t first = 0;               ///< The member, as an index in the communicator, that `bytes` begins with.
  std::span<const std::uint64_t> bytes;  ///< For each from there on. Borrowed for the call.
};

/// A stretch of time with a name that is no task: a phase of a step, a step.
struct SpanEvent {
  NameId name;  ///< Of `Role::span`.
  std::uint64_t object = 0;
  nanoseconds start{};
  nanoseconds end{};
  std::uint32_t step = 0;
};

/// Nobody looked at the network from start to end although something was in flight.
struct PollGapEvent {
  nanoseconds start{};
  nanoseconds end{};
};

struct CounterEvent {
  NameId name;  ///< Of `Role::counter`.
  nanoseconds time{};
  double value = 0;
  std::uint32_t step = 0;
};

/// What an exchange of messages with rank 0 told of this rank's clock.
struct ClockEvent {
  nanoseconds time{};    ///< Of this rank.
  nanoseconds offset{};  ///< To be added to get the time of rank 0.
  nanoseconds round_trip{};
};

}  // namespace plait::trace
