// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/recorder.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/trace/detail/chunk_file.hpp"
#include "plait/trace/detail/text.hpp"
#include "plait/trace/detail/wire.hpp"

namespace plait::trace {
namespace {

/// Of the thread whose chunks hold the names.
constexpr std::string_view names_thread = "names";

std::array<char, text_bytes_max> padded(std::string_view text) noexcept {
  std::array<char, text_bytes_max> bytes{};
  std::ranges::copy(text.substr(0, bytes.size()), bytes.begin());
  return bytes;
}

}  // namespace

struct ThreadRecorder::Chunks {
  detail::ChunkFile& file;
  std::string name;
  std::uint16_t worker = wire::no_worker;
  std::uint32_t begun_count = 0;
  std::span<std::byte> current;
};

ThreadRecorder::ThreadRecorder(std::unique_ptr<Chunks> chunks) noexcept : chunks_{std::move(chunks)} {
  if (chunks_ != nullptr) {
    worker_ = chunks_->worker;
    begin_chunk();
  }
}

ThreadRecorder::~ThreadRecorder() {
  if (chunks_ != nullptr) {
    detail::ChunkFile::release(chunks_->current);
  }
}

void ThreadRecorder::begin_chunk() noexcept {
  detail::ChunkFile::release(chunks_->current);
  chunks_->current = chunks_->file.next_chunk();
  next_ = chunks_->current.data();
  end_ = next_ + chunks_->current.size();
  if (next_ != nullptr) {
    wire::Chunk first{.kind = static_cast<std::uint8_t>(wire::Kind::chunk),
                      .thread = worker_,
                      .number = chunks_->begun_count++,
                      .name = padded(chunks_->name)};
    append(first);
  }
}

/// Stores `record`, its kind last: whoever reads the file of a killed process sees it whole or not.
template <class Record>
inline void ThreadRecorder::append(Record& record) noexcept {
  static_assert(wire::Record<Record>);
  if (next_ == end_) [[unlikely]] {
    begin_chunk();
    if (next_ == nullptr) {
      return;
    }
  }
  const std::uint8_t kind = std::exchange(record.kind, std::uint8_t{0});
  std::memcpy(next_, &record, sizeof record);
  std::atomic_ref{*reinterpret_cast<std::uint8_t*>(next_)}.store(
      kind, std::memory_order_release);  // with whoever maps the file
  next_ += sizeof record;
}

void ThreadRecorder::record(const TaskEvent& event) noexcept {
  wire::Task record{.kind = static_cast<std::uint8_t>(wire::Kind::task),
                    .flags = static_cast<std::uint8_t>(event.part),
                    .worker = worker_,
                    .name = event.kind.value(),
                    .object = event.object,
                    .ready_ns = event.ready.count(),
                    .start_ns = event.start.count(),
                    .end_ns = event.end.count(),
                    .task = event.task,
                    .caused_by = event.caused_by,
                    .step = event.step,
                    .place = event.place};
  append(record);
}

void ThreadRecorder::record(const MessageEvent& event) noexcept {
  wire::Message record{
      .kind = static_cast<std::uint8_t>(wire::Kind::message),
      .direction = static_cast<std::uint8_t>(event.direction),
      .protocol = static_cast<std::uint8_t>(event.protocol),
      .flags = static_cast<std::uint8_t>((event.is_matched_by_order ? wire::message_matched_by_order : 0) |
                                         (event.is_unfinished ? wire::message_unfinished : 0)),
      .peer = event.peer.value(),
      .communicator = event.communicator,
      .sequence = event.sequence,
      .tag = event.tag.value(),
      .bytes = event.bytes,
      .posted_ns = event.posted.count(),
      .handed_ns = event.handed.count(),
      .moved_ns = event.moved.count(),
      .completed_ns = event.completed.count()};
  append(record);
}

void ThreadRecorder::record(const SpanEvent& event) noexcept {
  wire::Span record{.kind = static_cast<std::uint8_t>(wire::Kind::span),
                    .worker = worker_,
                    .name = event.name.value(),
                    .object = event.object,
                    .start_ns = event.start.count(),
                    .end_ns = event.end.count(),
                    .step = event.step};
  append(record);
}

void ThreadRecorder::record(const PollGapEvent& event) noexcept {
  wire::PollGap record{.kind = static_cast<std::uint8_t>(wire::Kind::poll_gap),
                       .worker = worker_,
                       .start_ns = event.start.count(),
                       .end_ns = event.end.count()};
  append(record);
}

void ThreadRecorder::record(const CounterEvent& event) noexcept {
  wire::Counter record{.kind = static_cast<std::uint8_t>(wire::Kind::counter),
                       .name = event.name.value(),
                       .time_ns = event.time.count(),
                       .value = event.value,
                       .step = event.step};
  append(record);
}

void ThreadRecorder::record(const ClockEvent& event) noexcept {
  wire::Clock record{.kind = static_cast<std::uint8_t>(wire::Kind::clock),
                     .time_ns = event.time.count(),
                     .offset_ns = event.offset.count(),
                     .round_trip_ns = event.round_trip.count()};
  append(record);
}

void ThreadRecorder::record(const GraphTaskEvent& event) noexcept {
  std::span<const std::uint32_t> later = event.later;
  do {
    const std::size_t count = std::min(later.size(), wire::later_in_record);
    wire::GraphTask record{.kind = static_cast<std::uint8_t>(wire::Kind::graph_task),
                           .part = static_cast<std::uint8_t>(event.part),
                           .later_count = static_cast<std::uint16_t>(count),
                           .name = event.kind.value(),
                           .graph = event.graph,
                           .place = event.place};
    std::ranges::copy(later.first(count), record.later.begin());
    append(record);
    later = later.subspan(count);
  } while (!later.empty());
}

void ThreadRecorder::record(const GraphRunEvent& event) noexcept {
  wire::GraphRun record{.kind = static_cast<std::uint8_t>(wire::Kind::graph_run),
                        .graph = event.graph,
                        .start_ns = event.start.count(),
                        .step = event.step,
                        .active_count = event.active};
  append(record);
}

void ThreadRecorder::record(const CallEvent& event) noexcept {
  wire::Call record{.kind = static_cast<std::uint8_t>(wire::Kind::call),
                    .what = static_cast<std::uint8_t>(event.what),
                    .thread = worker_,
                    .name = event.function.value(),
                    .site = event.site ? event.site.value() : nothing,
                    .communicator = event.communicator,
                    .start_ns = event.start.count(),
                    .end_ns = event.end.count(),
                    .bytes_given = event.bytes_given,
                    .bytes_got = event.bytes_got,
                    .peer = event.peer,
                    .number = event.number,
                    .count = event.count,
                    .repeats = event.repeats};
  append(record);
}

void ThreadRecorder::record(const CommunicatorEvent& event) noexcept {
  for (std::size_t first = 0; first < event.members.size(); first += wire::members_in_record) {
    wire::Communicator record{.kind = static_cast<std::uint8_t>(wire::Kind::communicator),
                              .communicator = event.communicator,
                              .size = static_cast<std::uint32_t>(event.members.size()),
                              .first = static_cast<std::uint32_t>(first)};
    record.members.fill(nothing);
    std::ranges::copy(event.members.subspan(first, std::min(event.members.size() - first, wire::members_in_record)),
                      record.members.begin());
    append(record);
  }
}

void ThreadRecorder::record(const SharesEvent& event) noexcept {
  for (std::size_t first = 0; first < event.bytes.size(); first += wire::shares_in_record) {
    const std::size_t count = std::min(event.bytes.size() - first, wire::shares_in_record);
    wire::Shares record{.kind = static_cast<std::uint8_t>(wire::Kind::shares),
                        .call = event.call,
                        .first = event.first + static_cast<std::uint32_t>(first),
                        .count = static_cast<std::uint32_t>(count)};
    std::ranges::copy(event.bytes.subspan(first, count), record.bytes.begin());
    append(record);
  }
}

void ThreadRecorder::record_name(Role role, NameId name, std::string_view text) noexcept {
  if (!is_on()) {
    return;
  }
  wire::Name record{.kind = static_cast<std::uint8_t>(wire::Kind::name),
                    .role = static_cast<std::uint8_t>(role),
                    .text_bytes = static_cast<std::uint16_t>(text.size()),
                    .number = name.value(),
                    .text = padded(text)};
  append(record);
}

struct Recorder::State {
  using Names = std::map<std::string, NameId, std::less<>>;
  using ThreadKey = std::pair<WorkerId, std::string>;

  std::unique_ptr<ThreadRecorder> make_thread(WorkerId worker, std::string_view name) {
    if (file == nullptr) {
      return std::unique_ptr<ThreadRecorder>{new ThreadRecorder{nullptr}};
    }
    const std::uint16_t number = worker ? worker.value() : wire::no_worker;
    return std::unique_ptr<ThreadRecorder>{new ThreadRecorder{std::make_unique<ThreadRecorder::Chunks>(
        ThreadRecorder::Chunks{*file, detail::storable_text(name, text_bytes_max), number, 0, {}})}};
  }

  std::unique_ptr<detail::ChunkFile> file;  ///< Nothing when off; outlives the threads.
  std::mutex mutex;                         ///< Guards all below.
  std::map<ThreadKey, std::unique_ptr<ThreadRecorder>> threads;
  std::unique_ptr<ThreadRecorder> name_records;
  std::array<Names, role_count> names;
};

Recorder::Recorder(const Clock& clock) : clock_{clock}, time_zero_{clock.now()}, state_{std::make_unique<State>()} {}

Recorder::Recorder(const Clock& clock, const RecorderOptions& options) : Recorder{clock} {
  if (!options.rank || options.rank.value() >= options.rank_count) {
    throw Error{ErrorCode::bad_argument, "a trace needs a rank below the number of ranks", options.rank};
  }
  if (options.chunk_bytes == 0 || options.chunk_bytes % wire::header_bytes != 0 ||
      options.chunk_bytes % static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE)) != 0) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("trace chunks of {} bytes are not possible; choose a multiple of the "
                            "page size, such as 262144",
                            options.chunk_bytes)};
  }
  std::error_code trouble;
  std::filesystem::create_directories(options.folder, trouble);
  if (trouble) {
    throw Error{ErrorCode::io,
                fmt::format("{}: cannot make the folder of the trace: {}", options.folder.string(), trouble.message())};
  }
  const auto wall_clock = std::chrono::system_clock::now().time_since_epoch();
  const wire::Header header{.rank = options.rank.value(),
                            .rank_count = options.rank_count,
                            .chunk_bytes = options.chunk_bytes,
                            .wall_clock_ns = std::chrono::duration_cast<nanoseconds>(wall_clock).count(),
                            .clock_ns = time_zero_.count()};
  state_->file =
      std::make_unique<detail::ChunkFile>(options.folder / fmt::format("rank-{:04}.plt", options.rank.value()), header);
}

Recorder::~Recorder() = default;

bool Recorder::is_on() const noexcept {
  return state_->file != nullptr;
}

NameId Recorder::name(Role role, std::string_view text) {
  const std::lock_guard lock{state_->mutex};
  State::Names& names = state_->names[static_cast<std::size_t>(role)];
  if (const auto known = names.find(text); known != names.end()) {
    return known->second;
  }
  const NameId name{static_cast<std::uint32_t>(names.size())};
  names.emplace(text, name);
  if (is_on()) {
    if (state_->name_records == nullptr) {
      state_->name_records = state_->make_thread(WorkerId{}, names_thread);
    }
    state_->name_records->record_name(role, name, detail::storable_text(text, text_bytes_max));
  }
  return name;
}

ThreadRecorder& Recorder::thread(WorkerId worker, std::string_view name) {
  const std::lock_guard lock{state_->mutex};
  // A thread that is no worker is known in the file by its name as it is stored there.
  auto& thread = state_->threads[{worker, worker ? std::string{} : detail::storable_text(name, text_bytes_max)}];
  if (thread == nullptr) {
    thread = state_->make_thread(worker, name);
  }
  return *thread;
}

}  // namespace plait::trace
