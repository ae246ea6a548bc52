// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/reader.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "plait/trace/detail/text.hpp"
#include "plait/trace/detail/wire.hpp"
#include "plait/trace/match_by_order.hpp"

namespace plait::trace {
namespace {

/// A time further than this from the start of the run is taken for a damaged record.
constexpr std::int64_t time_max_ns = std::int64_t{366} * 86400 * 1'000'000'000;
constexpr std::uint64_t message_bytes_max = std::uint64_t{1} << 50U;
/// Ranks that a header may claim; guards against a damaged one.
constexpr std::uint32_t rank_count_max = std::uint32_t{1} << 22U;
/// Notices of one file that are told one by one.
constexpr std::size_t notices_max = 20;

bool is_impossible(std::int64_t time) noexcept {
  return time > time_max_ns || time < -time_max_ns;
}

template <wire::Record Record>
Record as(std::span<const std::byte> bytes) noexcept {
  Record record;
  std::memcpy(&record, bytes.data(), sizeof record);
  return record;
}

/// The text that fills `field` up to its first zero, or to `bytes`.
std::string text_of(const std::array<char, text_bytes_max>& field, std::size_t bytes) {
  const std::string_view all{field.data(), std::min(bytes, field.size())};
  return detail::storable_text(all.substr(0, all.find('\0')), text_bytes_max);
}

// Each `why_not` says what about a record cannot be true; nothing when all can.

const char* why_not(std::int64_t start, std::int64_t end) {
  if (is_impossible(start) || is_impossible(end)) {
    return "an impossible time";
  }
  return end < start ? "it ends before it starts" : nullptr;
}

const char* why_not(const wire::Task& task, std::uint32_t rank_count) {
  if (task.flags > static_cast<std::uint8_t>(TaskPart::receive)) {
    return "a task of a part that does not exist";
  }
  if (task.flags != 0 && task.object >> 32U >= rank_count) {
    return "a send or receive task of a rank that is not in the run";
  }
  return is_impossible(task.ready_ns) ? "an impossible time" : why_not(task.start_ns, task.end_ns);
}

const char* why_not(const wire::Message& message, std::uint32_t rank_count) {
  if (message.direction > static_cast<std::uint8_t>(MessageDirection::received)) {
    return "a message that was neither sent nor received";
  }
  if (message.protocol > static_cast<std::uint8_t>(Protocol::not_known)) {
    return "a message of an unknown protocol";
  }
  if (message.peer >= rank_count) {
    return "a message of a rank that is not in the run";
  }
  if (message.bytes > message_bytes_max) {
    return "a message of an impossible size";
  }
  if (is_impossible(message.handed_ns) || is_impossible(message.moved_ns)) {
    return "an impossible time";
  }
  // A completion of 0 is one that is not known.
  return why_not(message.posted_ns, message.completed_ns == 0 ? message.posted_ns : message.completed_ns);
}

const char* why_not(const wire::Counter& counter) {
  if (is_impossible(counter.time_ns)) {
    return "an impossible time";
  }
  return std::isfinite(counter.value) ? nullptr : "a counter whose value is not finite";
}

const char* why_not(const wire::Clock& clock) {
  if (is_impossible(clock.time_ns) || is_impossible(clock.offset_ns) || is_impossible(clock.round_trip_ns)) {
    return "an impossible time";
  }
  return clock.round_trip_ns < 0 ? "a clock exchange that was answered before it was asked" : nullptr;
}

const char* why_not(const wire::GraphTask& task) {
  if (task.part > static_cast<std::uint8_t>(TaskPart::join)) {
    return "a task of a part that does not exist";
  }
  return task.later_count > wire::later_in_record ? "a task of a graph with more after it than a record holds"
                                                  : nullptr;
}

const char* why_not(const wire::GraphRun& run) {
  return is_impossible(run.start_ns) ? "an impossible time" : nullptr;
}

const char* why_not(const wire::Call& call, std::uint32_t rank_count) {
  if (call.what > static_cast<std::uint8_t>(CallClass::begun_collective)) {
    return "a call of a class that does not exist";
  }
  if (call.peer != nothing && call.peer >= rank_count) {
    return "a call with a peer that does not exist";
  }
  return why_not(call.start_ns, call.end_ns);
}

const char* why_not(const wire::Communicator& communicator, std::uint32_t rank_count) {
  // Both sides of an inter-communicator may be the same ranks.
  return communicator.size > 2 * std::uint64_t{rank_count} || communicator.first >= communicator.size
             ? "a communicator with more members than there are ranks"
             : nullptr;
}

const char* why_not(const wire::Shares& shares, std::uint32_t rank_count) {
  return shares.count > wire::shares_in_record ||
                 std::uint64_t{shares.first} + shares.count > 2 * std::uint64_t{rank_count}
             ? "shares of more members than there are ranks"
             : nullptr;
}

const char* why_not(const wire::Name& name) {
  if (name.role >= role_count) {
    return "a name of a role that does not exist";
  }
  return name.text_bytes > text_bytes_max ? "a name that is longer than its record" : nullptr;
}

/// Turns records into events, one after another.
class Collector {
 public:
  Collector(RankTrace& trace, std::string file) : trace_{trace}, file_{std::move(file)} {}

  /// Takes the records of one chunk, up to the first of kind 0. `first` is the number of its first
  /// record in the file.
  void take_chunk(std::span<const std::byte> chunk, std::uint64_t first) {
    record_ = first;
    if (chunk.size() < wire::record_bytes || kind_of(chunk) == wire::Kind::none) {
      return;
    }
    if (kind_of(chunk) != wire::Kind::chunk) {
      leave_out("a chunk that does not begin as one");
      return;
    }
    begin_thread(as<wire::Chunk>(chunk));
    for (chunk = chunk.subspan(wire::record_bytes);
         chunk.size() >= wire::record_bytes && kind_of(chunk) != wire::Kind::none;
         chunk = chunk.subspan(wire::record_bytes)) {
      ++record_;
      take(chunk);
    }
  }

  void finish() {
    if (left_out_ > notices_max) {
      trace_.notices.push_back(fmt::format("{}: {} more records were left out", file_, left_out_ - notices_max));
    }
  }

 private:
  static wire::Kind kind_of(std::span<const std::byte> record) noexcept {
    return static_cast<wire::Kind>(record.front());
  }

  void begin_thread(const wire::Chunk& chunk) {
    const WorkerId worker{chunk.thread};  // 65535 is the id that names nothing
    static_assert(!WorkerId{wire::no_worker});
    std::string name = text_of(chunk.name, text_bytes_max);
    const auto known = std::ranges::find_if(
        trace_.threads, [&](const TracedThread& thread) { return thread.worker == worker && thread.name == name; });
    thread_ = static_cast<std::uint32_t>(known - trace_.threads.begin());
    if (known == trace_.threads.end()) {
      trace_.threads.push_back({worker, std::move(name)});
    }
  }

  void take(std::span<const std::byte> record) {
    switch (kind_of(record)) {
      case wire::Kind::name:
        take(as<wire::Name>(record));
        return;
      case wire::Kind::task:
        take(as<wire::Task>(record));
        return;
      case wire::Kind::message:
        take(as<wire::Message>(record));
        return;
      case wire::Kind::span:
        take(as<wire::Span>(record));
        return;
      case wire::Kind::poll_gap:
        take(as<wire::PollGap>(record));
        return;
      case wire::Kind::counter:
        take(as<wire::Counter>(record));
        return;
      case wire::Kind::clock:
        take(as<wire::Clock>(record));
        return;
      case wire::Kind::graph_task:
        take(as<wire::GraphTask>(record));
        return;
      case wire::Kind::graph_run:
        take(as<wire::GraphRun>(record));
        return;
      case wire::Kind::call:
        take(as<wire::Call>(record));
        return;
      case wire::Kind::communicator:
        take(as<wire::Communicator>(record));
        return;
      case wire::Kind::shares:
        take(as<wire::Shares>(record));
        return;
      case wire::Kind::none:
      case wire::Kind::chunk:
        leave_out("a chunk that begins inside another");
        return;
    }
    // Of a later version of the format: to be ignored.
  }

  void take(const wire::Name& name) {
    if (keep(why_not(name))) {
      trace_.names[name.role][NameId{name.number}] = text_of(name.text, name.text_bytes);
    }
  }

  void take(const wire::Task& task) {
    if (keep(why_not(task, trace_.rank_count))) {
      note_time(task.end_ns);
      trace_.tasks.push_back({thread_,
                              {.kind = NameId{task.name},
                               .part = static_cast<TaskPart>(task.flags),
                               .object = task.object,
                               .ready = nanoseconds{task.ready_ns},
                               .start = nanoseconds{task.start_ns},
                               .end = nanoseconds{task.end_ns},
                               .task = task.task,
                               .caused_by = task.caused_by,
                               .step = task.step,
                               .place = task.place}});
    }
  }

  void take(const wire::Message& message) {
    if (keep(why_not(message, trace_.rank_count))) {
      note_time(std::max(message.posted_ns, message.completed_ns));
      trace_.messages.push_back({thread_,
                                 {.direction = static_cast<MessageDirection>(message.direction),
                                  .protocol = static_cast<Protocol>(message.protocol),
                                  .peer = Rank{message.peer},
                                  .communicator = message.communicator,
                                  .sequence = message.sequence,
                                  .tag = Tag{message.tag},
                                  .bytes = message.bytes,
                                  .is_matched_by_order = (message.flags & wire::message_matched_by_order) != 0,
                                  .is_unfinished = (message.flags & wire::message_unfinished) != 0,
                                  .posted = nanoseconds{message.posted_ns},
                                  .handed = nanoseconds{message.handed_ns},
                                  .moved = nanoseconds{message.moved_ns},
                                  .completed = nanoseconds{message.completed_ns}}});
    }
  }

  void take(const wire::Span& span) {
    if (keep(why_not(span.start_ns, span.end_ns))) {
      note_time(span.end_ns);
      trace_.spans.push_back({thread_,
                              {.name = NameId{span.name},
                               .object = span.object,
                               .start = nanoseconds{span.start_ns},
                               .end = nanoseconds{span.end_ns},
                               .step = span.step}});
    }
  }

  void take(const wire::PollGap& gap) {
    if (keep(why_not(gap.start_ns, gap.end_ns))) {
      note_time(gap.end_ns);
      trace_.poll_gaps.push_back({thread_, {nanoseconds{gap.start_ns}, nanoseconds{gap.end_ns}}});
    }
  }

  void take(const wire::Counter& counter) {
    if (keep(why_not(counter))) {
      note_time(counter.time_ns);
      trace_.counters.push_back({thread_,
                                 {.name = NameId{counter.name},
                                  .time = nanoseconds{counter.time_ns},
                                  .value = counter.value,
                                  .step = counter.step}});
    }
  }

  void take(const wire::Clock& clock) {
    if (keep(why_not(clock))) {
      note_time(clock.time_ns);
      trace_.clocks.push_back({.time = nanoseconds{clock.time_ns},
                               .offset = nanoseconds{clock.offset_ns},
                               .round_trip = nanoseconds{clock.round_trip_ns}});
    }
  }

  void take(const wire::GraphTask& task) {
    if (!keep(why_not(task))) {
      return;
    }
    const GraphTask known{task.graph, task.place, static_cast<TaskPart>(task.part), NameId{task.name}};
    if (trace_.graph_tasks.empty() || trace_.graph_tasks.back() != known) {  // else its record goes on
      trace_.graph_tasks.push_back(known);
    }
    for (const std::uint32_t later : std::span{task.later}.first(task.later_count)) {
      trace_.dependencies.push_back({task.graph, task.place, later});
    }
  }

  void take(const wire::GraphRun& run) {
    if (keep(why_not(run))) {
      note_time(run.start_ns);
      trace_.graph_runs.push_back(
          {.graph = run.graph, .step = run.step, .start = nanoseconds{run.start_ns}, .active = run.active_count});
    }
  }

  void take(const wire::Call& call) {
    if (keep(why_not(call, trace_.rank_count))) {
      note_time(call.end_ns);
      trace_.calls.push_back({thread_,
                              {.what = static_cast<CallClass>(call.what),
                               .function = NameId{call.name},
                               .site = call.site == nothing ? NameId{} : NameId{call.site},
                               .communicator = call.communicator,
                               .start = nanoseconds{call.start_ns},
                               .end = nanoseconds{call.end_ns},
                               .bytes_given = call.bytes_given,
                               .bytes_got = call.bytes_got,
                               .peer = call.peer,
                               .number = call.number,
                               .count = call.count,
                               .repeats = call.repeats}});
    }
  }

  void take(const wire::Communicator& communicator) {
    if (keep(why_not(communicator, trace_.rank_count))) {
      auto& members = trace_.communicators[communicator.communicator];
      members.resize(communicator.size, nothing);
      const std::size_t count = std::min<std::size_t>(communicator.size - communicator.first, wire::members_in_record);
      std::ranges::copy(std::span{communicator.members}.first(count), members.begin() + communicator.first);
    }
  }

  void take(const wire::Shares& shares) {
    if (keep(why_not(shares, trace_.rank_count))) {
      auto& bytes = trace_.shares[shares.call];
      bytes.resize(std::max<std::size_t>(bytes.size(), shares.first + shares.count));
      std::ranges::copy(std::span{shares.bytes}.first(shares.count), bytes.begin() + shares.first);
    }
  }

  void note_time(std::int64_t time) { trace_.last_event = std::max(trace_.last_event, nanoseconds{time}); }

  /// True when there is no reason against the record.
  bool keep(const char* trouble) {
    if (trouble != nullptr) {
      leave_out(trouble);
    }
    return trouble == nullptr;
  }

  void leave_out(const char* trouble) {
    if (++left_out_ <= notices_max) {
      trace_.notices.push_back(fmt::format("{}: event {}: {}; left out", file_, record_, trouble));
    }
  }

  RankTrace& trace_;
  std::string file_;
  std::uint32_t thread_ = 0;
  std::uint64_t record_ = 0;
  std::size_t left_out_ = 0;
};

/// What makes a file unusable as a whole; nothing when nothing does.
std::optional<std::string> why_not(const wire::Header& header) {
  if (header.magic != wire::magic) {
    return "is no plait trace (it does not begin with PLAITTRC)";
  }
  if (header.version != wire::version) {
    return fmt::format("is of version {} of the format; this plait reads version {}", header.version, wire::version);
  }
  if (header.record_bytes != wire::record_bytes) {
    return fmt::format("has records of {} bytes instead of {}", header.record_bytes, wire::record_bytes);
  }
  if (header.chunk_bytes < wire::chunk_bytes_min || header.chunk_bytes % wire::record_bytes != 0) {
    return fmt::format("has chunks of {} bytes, which is no multiple of 64 from 128", header.chunk_bytes);
  }
  if (header.rank_count > rank_count_max || header.rank >= header.rank_count) {
    return fmt::format("says that it is rank {} of {}", header.rank, header.rank_count);
  }
  if (header.wall_clock_ns < 0 || header.clock_ns < 0) {
    return "says that it began before 1970, or before its clock";
  }
  return std::nullopt;
}

std::filesystem::path rank_file(const std::filesystem::path& folder, std::uint32_t rank) {
  return folder / fmt::format("rank-{:04}.plt", rank);
}

}  // namespace

std::string RankTrace::name(Role role, NameId id) const {
  const Names& known = names[static_cast<std::size_t>(role)];
  const auto found = known.find(id);
  return found != known.end() ? found->second : fmt::format("#{}", id.value());
}

Result<RankTrace> read_rank_trace(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  const auto refuse = [&](ErrorCode code, std::string_view why) {
    return Error{code, fmt::format("{}: {}", name, why)};
  };
  std::error_code trouble;
  const std::uintmax_t file_bytes = std::filesystem::file_size(file, trouble);
  std::ifstream in{file, std::ios::binary};
  if (trouble || !in) {
    return refuse(ErrorCode::io, fmt::format("cannot be opened ({})", trouble ? trouble.message() : "no permission?"));
  }
  if (file_bytes < wire::header_bytes) {
    return refuse(ErrorCode::bad_input, fmt::format("is {} bytes long, shorter than a header", file_bytes));
  }
  wire::Header header;
  in.read(reinterpret_cast<char*>(&header), sizeof header);
  if (const auto why = in ? why_not(header) : "cannot be read"; why) {
    return refuse(ErrorCode::bad_input, *why);
  }
  RankTrace trace{.rank = Rank{header.rank},
                  .rank_count = header.rank_count,
                  .wall_clock = nanoseconds{header.wall_clock_ns},
                  .clock = nanoseconds{header.clock_ns}};
  Collector collector{trace, name};
  in.seekg(wire::header_bytes);
  // A damaged header may tell of chunks far larger than the file.
  std::vector<std::byte> chunk(std::min<std::uintmax_t>(header.chunk_bytes, file_bytes - wire::header_bytes));
  for (std::uint64_t first = 0; in && !chunk.empty(); first += chunk.size() / wire::record_bytes) {
    in.read(reinterpret_cast<char*>(chunk.data()), static_cast<std::streamsize>(chunk.size()));
    collector.take_chunk(std::span{chunk}.first(static_cast<std::size_t>(in.gcount())), first);
  }
  if (in.bad()) {
    return refuse(ErrorCode::io, "cannot be read to its end");
  }
  collector.finish();
  return trace;
}

ClockLine RunTrace::clock_line(Rank rank) const {
  const RankTrace& trace = ranks.at(rank.value());
  if (rank == Rank{0}) {
    return {};
  }
  return fit_clock(trace.clocks, trace.last_event, trace.wall_clock - ranks.front().wall_clock);
}

Result<RunTrace> read_run(const std::filesystem::path& folder) {
  RunTrace run;
  if (std::filesystem::exists(folder / "meta.json")) {
    Result<Meta> meta = read_meta(folder);
    if (!meta) {
      return meta.error();
    }
    run.meta = std::move(meta).value();
  }
  std::uint32_t rank_count = 1;
  for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
    Result<RankTrace> read = read_rank_trace(rank_file(folder, rank));
    if (!read) {
      return read.error();
    }
    RankTrace trace = std::move(read).value();
    if (rank == 0) {
      rank_count = trace.rank_count;
    }
    if (trace.rank != Rank{rank} || trace.rank_count != rank_count) {
      return Error{ErrorCode::bad_input,
                   fmt::format("{}: says that it is rank {} of {}, but the run has {} ranks; are "
                               "files of two runs in one folder?",
                               rank_file(folder, rank).filename().string(),
                               trace.rank.value(),
                               trace.rank_count,
                               rank_count)};
    }
    run.ranks.push_back(std::move(trace));
  }
  match_by_order(run.ranks);
  return run;
}

}  // namespace plait::trace
