// SPDX-License-Identifier: Apache-2.0
// Made from schema.toml by tools/make_trace_code.py: edit that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"

/// The events of a trace, as the layers above record them and readers return them. Times count from the
/// recorder's time 0 (`Recorder::now()`); 0 means "not known" for times other than starts.
namespace plait::trace {

/// A name that was registered with `Recorder::name`.
using NameId = Id<struct NameTag>;

/// Longest text of a name or of a thread's name in a file; longer ones are cut, at a character.
inline constexpr std::size_t text_bytes_max = 56;
/// Stands for none, where ranks, communicators and call sites are plain numbers.
inline constexpr std::uint32_t nothing = 0xffffffff;

/// What a name is for; names of different roles are numbered apart.
enum class Role : std::uint8_t {
  task,  ///< Task kind.
  span,
  counter,
  function,   ///< Function called.
  call_site,  ///< Place of a call in the program.
};

inline constexpr std::uint8_t role_count = 5;

/// What a task does.
enum class TaskRole : std::uint8_t {
  compute,  ///< A task.
  send,     ///< A send task.
  receive,  ///< A receive task.
  join,     ///< A join: orders others, does nothing; only in graphs.
};

/// Which side of a message a record describes.
enum class MessageDirection : std::uint8_t {
  sent,
  received,
};

/// How a message travelled.
enum class Protocol : std::uint8_t {
  eager,
  rendezvous,
  active_message,
  not_known,
};

/// What a call of a communication library does.
enum class CallClass : std::uint8_t {
  other,
  begins_message,  ///< Begins a send or receive.
  completes,       ///< Waits, tests or probes.
  message,         ///< Sends or receives and waits for it.
  collective,
  begins_collective,  ///< Begins a non-blocking collective.
  one_sided,
  sets_up,  ///< Sets up communicators, types or windows.
  file,
  begins_or_ends,    ///< Initialises or finalises.
  begun_collective,  ///< A non-blocking collective as a whole, no call of its own: from the call that began it to its
                     ///< completion.
};

/// What a sum of a profile counts.
enum class SumOf : std::uint8_t {
  calls,
  sent,      ///< Messages sent.
  received,  ///< Messages received.
};

/// What a sum of plait's engine counts, and which times.
enum class EngineSumOf : std::uint8_t {
  tasks,           ///< Tasks, from start to end.
  task_waits,      ///< Tasks, from being ready to their start.
  sent,            ///< Messages sent, from posting to completion.
  sent_waits,      ///< Messages sent, from posting until they were handed to the network.
  received,        ///< Messages received, from posting to completion.
  received_waits,  ///< Messages received, from posting until they were matched.
  spans,           ///< Regions, from begin to end.
  poll_gaps,
};

/// What a sum of a profile has lost because the profile's memory was full.
enum class Folded : std::uint8_t {
  whole,         ///< Nothing.
  without_peer,  ///< Peer and communicator.
  class_only,    ///< Everything but the class of the calls, or the direction of the messages.
};

/// The object of a send or receive task: its message.
[[nodiscard]] constexpr std::uint64_t message_object(Rank peer, std::uint32_t sequence) noexcept {
  return std::uint64_t{peer.value()} << 32U | sequence;
}

/// A task that ran. Joins leave no such record.
struct TaskEvent {
  NameId kind;                 ///< Its task kind; of `Role::task`.
  TaskRole role = TaskRole{};  ///< What the task does.
  /// What it worked on; of a send or receive task its message: `peer << 32 | sequence number`.
  std::uint64_t object = 0;
  nanoseconds ready{};  ///< Its last dependency was met.
  nanoseconds start{};  ///< Start; of a send or receive task: posted.
  nanoseconds end{};
  std::uint64_t id = 0;  ///< Task id: unique within the rank's file, from 1.
  /// Id of the task whose end made it ready, or that spawned it; 0 = none (the start of the run). Never a join.
  std::uint64_t released_by = 0;
  std::uint32_t step = 0;  ///< Number of the graph's run, from 0.
  /// Place of the task in its graph, from 1 (kind 9); 0 = in no graph (spawned by a task, for example), or not
  /// known.
  std::uint32_t place = 0;
};

/// One side of a message, recorded when it completes there. A send and a receive are the same message when
/// (source, destination, communicator, sequence number) agree.
struct MessageEvent {
  MessageDirection direction = MessageDirection{};  ///< Which side this is.
  Protocol protocol = Protocol::eager;              ///< How it travelled.
  /// Destination of a send, source of a receive; 0xFFFFFFFF = an unfinished receive from any source.
  Rank peer;
  /// Communicator; from 0xFFFFFFF0 on: the runtime's own messages (clock exchange, gathering), which reports leave
  /// out.
  std::uint32_t communicator = 0;
  std::uint32_t sequence = 0;  ///< Sequence number within (source, destination, communicator).
  Tag tag;
  std::uint64_t bytes = 0;  ///< Size.
  /// Of a program recorded from outside: the sequence number is the number of the call that posted it; match by
  /// order of posting, see below.
  bool is_matched_by_order = false;
  bool is_unfinished = false;  ///< Had not completed when the record ended (completed is 0).
  /// Of a program recorded from outside: the datatype of the send has gaps.
  bool is_non_contiguous = false;
  nanoseconds posted{};  ///< The program posted it.
  nanoseconds handed{};  ///< Send: handed to the network. Receive: matched.
  /// Send: the data is out of the buffer, which is free. Receive: all bytes are in this process.
  nanoseconds arrived{};
  nanoseconds completed{};  ///< The program was notified.
};

/// A named time interval that is no task: a step, a phase of a step.
struct SpanEvent {
  NameId name;  ///< Its name; of `Role::span`.
  std::uint64_t object = 0;
  nanoseconds start{};
  nanoseconds end{};
  std::uint32_t step = 0;
};

/// A polling gap: no thread polled the network from start to end although an operation was in flight. Only gaps
/// above the recorder's threshold are recorded.
struct PollGapEvent {
  nanoseconds start{};
  nanoseconds end{};
};

/// A value of a named counter.
struct CounterEvent {
  NameId name;         ///< Its name; of `Role::counter`.
  nanoseconds time{};  ///< When it had this value.
  double value = 0;    ///< Value, finite.
  std::uint32_t step = 0;
};

/// The result of one exchange of messages with rank 0 that compares this rank's clock with its own.
struct ClockEvent {
  nanoseconds time{};  ///< Time of this rank.
  /// What to add to get the time of rank 0 (each counts from its own file's time 0).
  nanoseconds offset{};
  /// Round trip of the exchange: the error of the offset is at most half of it.
  nanoseconds round_trip{};
};

/// A task of a graph, and the tasks that must run after it. Recorded once for each graph, at its first run, and
/// again under a new number when the graph has changed. A task with more than 12 successors has several such
/// records, which differ only in these.
struct GraphTaskEvent {
  std::uint32_t graph = 0;     ///< Number of the graph, unique within the rank, from 1.
  std::uint32_t place = 0;     ///< Place of the task in the graph, from 1.
  TaskRole role = TaskRole{};  ///< What the task does.
  NameId kind;                 ///< Its task kind; of `Role::task`.
  /// Places of tasks that start after it has ended, if both are active; borrowed for the call.
  std::span<const std::uint32_t> later;
};

/// A run of a graph starts.
struct GraphRunEvent {
  std::uint32_t graph = 0;  ///< Number of the graph.
  std::uint32_t step = 0;   ///< Step of the tasks that run.
  nanoseconds start{};
  std::uint32_t active = 0;  ///< Number of its tasks that are active.
};

/// A call of a communication library, in a program that was recorded from outside (`plait record`); recorded when
/// it returns.
struct CallEvent {
  CallClass what = CallClass{};  ///< What it does.
  NameId function;               ///< The function; of `Role::function`.
  NameId site;                   ///< Where in the program it was called; 0xFFFFFFFF = not known; of `Role::call_site`.
  std::uint32_t communicator = nothing;  ///< Communicator; 0xFFFFFFFF = none.
  nanoseconds start{};
  nanoseconds end{};
  std::uint64_t bytes_given = 0;  ///< Bytes that this rank gives.
  std::uint64_t bytes_got = 0;    ///< Bytes that this rank gets.
  /// Peer, or root of a collective, as a rank of the run; 0xFFFFFFFF = none, several, or any.
  std::uint32_t peer = nothing;
  /// Number of the call: rises in the order of posting within the rank, from 1. A call that begins several messages
  /// has the number of the first, and the others follow. A non-blocking collective as a whole has the number of the
  /// call that began it.
  std::uint32_t number = 0;
  /// Of a collective: the collectives before it on its communicator. Of a wait or test: the operations that it
  /// completed. Else 0.
  std::uint32_t count = 0;
  /// Of a test or probe that found nothing: the calls like it that followed at once from the same place, up to the
  /// end of this record; they have no record of their own. Else 0.
  std::uint32_t repeats = 0;
};

/// The members of a communicator, in its order. A communicator of more than 12 ranks has several records.
/// Communicator 0 has all ranks of the run and needs none. A number means the same on all members.
struct CommunicatorEvent {
  std::uint32_t communicator = 0;
  /// Its number of members; of an inter-communicator: of both groups; found from `first` and the list when
  /// recorded.
  std::uint32_t size = 0;
  std::uint32_t first = 0;  ///< Index of the first member in this record.
  /// Members, as ranks of the run; 0xFFFFFFFF = no more; borrowed for the call.
  std::span<const std::uint32_t> members;
};

/// The bytes that a vector collective (`MPI_Alltoallv`, for example) gives to each member, unless they are the
/// same for all.
struct SharesEvent {
  std::uint32_t call = 0;                ///< Number of the call.
  std::uint32_t first = 0;               ///< Index, in the communicator, of the first member in this record.
  std::span<const std::uint64_t> bytes;  ///< Bytes given to each; borrowed for the call.
};

/// Plait's engine began to record into this file, beside the calls of the program. Its messages are those of kind
/// 4 without `is_matched_by_order`; their communicators are numbered apart from those of calls.
struct EngineEvent {
  std::uint32_t workers = 0;  ///< Computing threads of the rank.
  nanoseconds start{};        ///< When it began.
  /// Its messages are those of the program's calls (`plait accelerate`), not other ones: see below.
  bool carries_calls = false;
};

/// A region that had not ended when its thread, or the recording, did. It is a span (kind 5) as well, which ends
/// there.
struct OpenRegionEvent {
  NameId name;  ///< Its name; of `Role::span`.
  nanoseconds start{};
  nanoseconds end{};  ///< When the thread, or the recording, ended.
};

/// Where a thread of the program was at a time, in equal intervals of its processor time (`--sample` of `plait
/// record` and `plait run`).
struct SampleEvent {
  /// Thread that was sampled, as in kind 3; 65535 = one that has not called MPI and is no worker.
  std::uint16_t of_worker = 0;
  std::uint32_t thread = 0;  ///< Number of the thread, in the order in which threads were found, from 0.
  nanoseconds time{};        ///< When.
  NameId site;               ///< The function, with its callers; 0xFFFFFFFF = not known; of `Role::call_site`.
  nanoseconds interval{};    ///< Processor time of the thread that the sample is for.
};

/// What a counter of the processor or of the kernel counted on a thread: during a region, a task, or from the
/// thread's first call to its end or that of the recording. One record for each counter.
struct CountEvent {
  std::uint16_t of_worker = 0;  ///< Thread, as in kind 3.
  NameId counter;               ///< The counter; of `Role::counter`.
  NameId region;                ///< The region's name; 0xFFFFFFFF = of no region; of `Role::span`.
  /// The task's kind; 0xFFFFFFFF = of no task. With neither it is of the thread; of `Role::task`.
  NameId task;
  nanoseconds start{};      ///< Start of what was counted.
  nanoseconds end{};        ///< Its end.
  std::uint64_t value = 0;  ///< What was counted.
  std::uint64_t id = 0;     ///< Task id, as in kind 3; 0 = of no task.
};

/// Of a profile (`plait record --profile`): calls or messages that agree in place, peer and size class, counted.
/// It changes while the run goes on; several with the same key add up. Two records of kind 19 follow.
struct SumEvent {
  SumOf of = SumOf{};  ///< What it counts.
  /// The function that was called, or that posted the messages; 0xFFFFFFFF = folded; of `Role::function`.
  NameId function;
  /// Where in the program it was called; 0xFFFFFFFF = not known, or folded; of `Role::call_site`.
  NameId site;
  /// Peer, or root of a collective; 0xFFFFFFFF = none, several, any, or folded.
  std::uint32_t peer = nothing;
  std::uint32_t communicator = nothing;  ///< Communicator; 0xFFFFFFFF = none, or folded.
  CallClass what = CallClass{};          ///< Of calls: what they do.
  /// Bytes of each, given or got, whichever is more: 0 = none, n = from 2^(n-1) to 2^n - 1; 255 = folded.
  std::uint8_t size_class = 0;
  Folded folded = Folded{};       ///< What the sum has lost.
  std::uint64_t count = 0;        ///< Number of calls or messages.
  nanoseconds time{};             ///< Sum of their durations; of messages: from posting to completion.
  nanoseconds time_max{};         ///< The longest.
  std::uint64_t bytes_given = 0;  ///< Sum of the bytes given, or of the messages.
  std::uint64_t bytes_got = 0;    ///< Sum of the bytes got.
};

/// How often each duration was, of the sum (kind 18 or 26) before it. Bin 0 has durations below 256 ns, bin n
/// those from 2^(n+7) to 2^(n+8) ns, bin 23 all from 2^30 ns on.
struct SumTimesEvent {
  std::uint32_t low = 0;  ///< Number of the first bin in this record: 0 or 12.
  /// Number of calls or messages in each bin; borrowed for the call.
  std::span<const std::uint32_t> times;
};

/// A window of a profile: a part of the run from which all events are recorded, too. Recorded when it opens and,
/// if its end was not known then, again when it closes.
struct WindowEvent {
  std::uint32_t number = 0;  ///< Number of the window, from 0; the same on all ranks.
  nanoseconds start{};
  nanoseconds end{};  ///< End; 0 = not known yet.
};

/// Of a profile: what is true of all sums of some threads. It changes while the run goes on.
struct ProfileStateEvent {
  nanoseconds last{};      ///< End of the last call or message that was counted.
  std::uint64_t lost = 0;  ///< Calls and messages that are in no sum, because the disk was full.
};

/// A task of a flow, or a message that a flow sends or receives, with the data that it accesses here. The order
/// of the numbers is that of submission, so that the order of two tasks follows as in the flow: a task that
/// writes comes after all before it that access the same, one that reads after the last that wrote. Of more than
/// 6 accesses, there are several records, which differ only in these.
struct FlowTaskEvent {
  TaskRole role = TaskRole{};  ///< What it does.
  /// Communicator of the flow, within which places are numbered; of tasks 0 in older runs.
  std::uint32_t communicator = 0;
  std::uint64_t id = 0;       ///< Of a task: its id (kind 3). Of a message: a number from the same row.
  nanoseconds submitted{};    ///< When it was submitted.
  Tag tag;                    ///< Of a message: tag.
  std::int64_t priority = 0;  ///< Its priority in the flow.
  /// `place << 2 | how`; how: 0 = reads, 1 = writes, 2 = accesses in any order but alone; borrowed for the call.
  std::span<const std::uint32_t> accesses;
};

/// The resources that a task of a graph locks. They exclude tasks that lock the same, or a resource above or
/// below it. Recorded after the task (kind 9).
struct GraphClaimsEvent {
  std::uint32_t graph = 0;  ///< Number of the graph.
  std::uint32_t place = 0;  ///< Place of the task in the graph.
  /// `resource << 2 | how`; how: 0 = locks, 1 = shares with other readers, 2 = is above the one before it in this
  /// list; borrowed for the call.
  std::span<const std::uint32_t> claims;
};

/// Of a profile (`plait run --profile`): tasks, messages or regions of plait's runtime that agree in all but
/// their times, counted. It changes while the run goes on; several with the same key add up. Two records of kind
/// 19 follow.
struct EngineSumEvent {
  EngineSumOf of = EngineSumOf{};        ///< What it counts, and which times.
  NameId kind;                           ///< Of tasks: their kind; 0xFFFFFFFF = none, or folded; of `Role::task`.
  NameId span;                           ///< Of regions: their name; 0xFFFFFFFF = none, or folded; of `Role::span`.
  std::uint32_t peer = nothing;          ///< Of messages: peer; 0xFFFFFFFF = none, or folded.
  std::uint32_t communicator = nothing;  ///< Of messages: communicator; 0xFFFFFFFF = none, or folded.
  TaskRole role = TaskRole{};            ///< Of tasks: what they do.
  std::uint8_t size_class = 0;           ///< Bytes of each message, as in kind 18.
  Folded folded = Folded{};              ///< What the sum has lost.
  Protocol protocol = Protocol{};        ///< Of messages: how they travelled.
  std::uint64_t count = 0;               ///< Number of tasks, messages, regions or gaps.
  nanoseconds time{};                    ///< Sum of their times.
  nanoseconds time_max{};                ///< The longest.
  std::uint64_t bytes = 0;               ///< Sum of the messages' bytes.
};

/// Of a collective (`plait record`) whose data is not contiguous in the memory of this rank: structs with
/// padding, columns of a matrix. Others have no such record.
struct CollectiveLayoutEvent {
  /// Number of the call; of a persistent collective: of the call that started it.
  std::uint32_t call = 0;
  bool has_gaps_given = false;  ///< The datatype of what this rank gives has gaps.
  bool has_gaps_got = false;    ///< The datatype of what this rank gets has gaps.
};

/// What an execution of a task of a collection, or of a deferred task, came after on its rank: the senders of the
/// messages that it has taken, also of other ranks, the maker of a value that it reads, the readers of a value
/// that it modifies. Of several executions of such a task, the last one that had ended before this one began. Of
/// more than 4, there are several records, which differ only in these.
struct TaskOrderEvent {
  std::uint64_t id = 0;     ///< Id of the task (kind 3).
  nanoseconds time{};       ///< A time within the execution.
  nanoseconds submitted{};  ///< When the program outside of tasks submitted it; 0 = it did not.
  /// Ids of the tasks that it came after; of a task of another rank: `(rank + 1) << 40 | id`; borrowed for the
  /// call.
  std::span<const std::uint64_t> earlier;
};

/// Polls of a thread in the background (`PLAIT_PROGRESS=timer`) that moved messages while the program computed.
/// Where no core was idle, they took their processor time from tasks.
struct BackgroundTimeEvent {
  nanoseconds start{};  ///< Start of the time in which it polled, with pauses.
  nanoseconds end{};    ///< Its end: at least 1 ms later, unless the thread ended.
  nanoseconds took{};   ///< Processor time of the thread in it.
};

/// What the recorder of MPI calls (`plait record`) takes of the rank's processor, measured when the recording
/// starts: means of some thousand calls that it makes itself. `plait predict` and `plait replay` leave it out of
/// computing. Tables of calls contain it.
struct RecorderCostsEvent {
  nanoseconds call{};    ///< For each record of a call, in all.
  nanoseconds inside{};  ///< The part of it that is between the call's recorded start and end.
  /// For each test or probe that found nothing and has no record of its own, in all.
  nanoseconds poll{};
  nanoseconds message{};  ///< Further, for each message of a blocking call.
  nanoseconds request{};  ///< Further, for each message with a request.
};

/// An event as read, with the thread that recorded it.
template <class Event>
struct Recorded {
  std::uint32_t thread = 0;  ///< Index into `RankTrace::threads`.
  Event event;
};

/// The events in a rank's file, except those with lists. Of one thread, in the order of recording.
struct RankEvents {
  std::vector<Recorded<TaskEvent>> tasks;
  std::vector<Recorded<MessageEvent>> messages;
  std::vector<Recorded<SpanEvent>> spans;
  std::vector<Recorded<PollGapEvent>> gaps;
  std::vector<Recorded<CounterEvent>> counters;
  std::vector<ClockEvent> clocks;
  std::vector<GraphRunEvent> graph_runs;
  std::vector<Recorded<CallEvent>> calls;
  std::vector<EngineEvent> engines;
  std::vector<Recorded<OpenRegionEvent>> open_regions;
  std::vector<Recorded<SampleEvent>> samples;
  std::vector<Recorded<CountEvent>> counts;
  std::vector<Recorded<SumEvent>> sums;
  std::vector<Recorded<WindowEvent>> windows;
  std::vector<Recorded<ProfileStateEvent>> profile_states;
  std::vector<Recorded<EngineSumEvent>> engine_sums;
  std::vector<CollectiveLayoutEvent> collective_layouts;
  std::vector<BackgroundTimeEvent> background_times;
  std::vector<RecorderCostsEvent> recorder_costs;

  void add(std::uint32_t thread, const TaskEvent& event) { tasks.push_back({thread, event}); }
  void add(std::uint32_t thread, const MessageEvent& event) { messages.push_back({thread, event}); }
  void add(std::uint32_t thread, const SpanEvent& event) { spans.push_back({thread, event}); }
  void add(std::uint32_t thread, const PollGapEvent& event) { gaps.push_back({thread, event}); }
  void add(std::uint32_t thread, const CounterEvent& event) { counters.push_back({thread, event}); }
  void add(std::uint32_t /*thread*/, const ClockEvent& event) { clocks.push_back(event); }
  void add(std::uint32_t /*thread*/, const GraphRunEvent& event) { graph_runs.push_back(event); }
  void add(std::uint32_t thread, const CallEvent& event) { calls.push_back({thread, event}); }
  void add(std::uint32_t /*thread*/, const EngineEvent& event) { engines.push_back(event); }
  void add(std::uint32_t thread, const OpenRegionEvent& event) { open_regions.push_back({thread, event}); }
  void add(std::uint32_t thread, const SampleEvent& event) { samples.push_back({thread, event}); }
  void add(std::uint32_t thread, const CountEvent& event) { counts.push_back({thread, event}); }
  void add(std::uint32_t thread, const SumEvent& event) { sums.push_back({thread, event}); }
  void add(std::uint32_t thread, const WindowEvent& event) { windows.push_back({thread, event}); }
  void add(std::uint32_t thread, const ProfileStateEvent& event) { profile_states.push_back({thread, event}); }
  void add(std::uint32_t thread, const EngineSumEvent& event) { engine_sums.push_back({thread, event}); }
  void add(std::uint32_t /*thread*/, const CollectiveLayoutEvent& event) { collective_layouts.push_back(event); }
  void add(std::uint32_t /*thread*/, const BackgroundTimeEvent& event) { background_times.push_back(event); }
  void add(std::uint32_t /*thread*/, const RecorderCostsEvent& event) { recorder_costs.push_back(event); }
};

}  // namespace plait::trace
