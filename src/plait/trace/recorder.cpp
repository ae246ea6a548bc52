// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/recorder.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/trace/detail/chunk_file.hpp"
#include "plait/trace/detail/encode.hpp"
#include "plait/trace/detail/event_profile.hpp"
#include "plait/trace/detail/text.hpp"

namespace plait::trace {
namespace {

/// Of the thread whose chunks hold the names.
constexpr std::string_view names_thread = "names";

/// The chunks of the file of the preloaded recorder.
class BorrowedChunks final : public ChunkSource {
 public:
  explicit BorrowedChunks(const PreloadedRecorder& host) : host_{host} {}
  [[nodiscard]] std::span<std::byte> next_chunk() noexcept override {
    std::byte* const chunk = host_.next_chunk();
    return chunk != nullptr ? std::span{chunk, host_.chunk_bytes} : std::span<std::byte>{};
  }

 private:
  const PreloadedRecorder& host_;
};

}  // namespace

struct Recorder::State {
  using Names = std::map<std::string, NameId, std::less<>>;
  using ThreadKey = std::pair<WorkerId, std::string>;

  std::unique_ptr<ThreadRecorder> make_thread(WorkerId worker, std::string_view name) {
    const std::uint16_t number = !worker           ? detail::no_worker
                                 : host != nullptr ? host->thread_of_worker(worker.value())
                                                   : worker.value();
    return std::make_unique<ThreadRecorder>(
        chunks.get(), number, detail::storable_text(name, text_bytes_max), profile.get());
  }

  const PreloadedRecorder* host = nullptr;        ///< Whose file it is, if it is not this recorder's.
  std::unique_ptr<ChunkSource> chunks;            ///< Nothing when off; outlives the threads.
  std::unique_ptr<detail::EventProfile> profile;  ///< Null if all events are recorded; outlives the threads.
  std::mutex mutex;                               ///< Guards all below.
  std::map<ThreadKey, std::unique_ptr<ThreadRecorder>> threads;
  std::unique_ptr<ThreadRecorder> name_records;
  std::array<Names, role_count> names;
  std::vector<std::span<std::byte>> lasting_chunks;
};

Recorder::Recorder(const Clock& clock) : clock_{clock}, time_zero_{clock.now()}, state_{std::make_unique<State>()} {}

Recorder::Recorder(const Clock& clock, const RecorderOptions& options) : Recorder{clock} {
  if (!options.rank || options.rank.value() >= options.rank_count) {
    throw Error{ErrorCode::bad_argument, "a trace needs a rank below the number of ranks", options.rank};
  }
  if (options.chunk_bytes == 0 || options.chunk_bytes % detail::header_bytes != 0 ||
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
  const detail::Header header{.rank = options.rank.value(),
                              .rank_count = options.rank_count,
                              .chunk_bytes = options.profile ? SumTable::chunk_bytes : options.chunk_bytes,
                              .wall_clock_ns = std::chrono::duration_cast<nanoseconds>(wall_clock).count(),
                              .clock_ns = time_zero_.count()};
  state_->chunks =
      std::make_unique<detail::ChunkFile>(options.folder / fmt::format("rank-{:04}.plt", options.rank.value()), header);
  if (options.profile) {
    state_->profile = std::make_unique<detail::EventProfile>(*this, *options.profile);
  }
}

Recorder::Recorder(const Clock& clock, const PreloadedRecorder& host, std::uint32_t worker_count)
    : clock_{clock}, time_zero_{host.join(worker_count)}, state_{std::make_unique<State>()} {
  state_->host = &host;
  state_->chunks = std::make_unique<BorrowedChunks>(host);
  if (host.is_profile()) {
    state_->profile = std::make_unique<detail::EventProfile>(*this, host);
  }
}

Recorder::~Recorder() {
  for (const std::span<std::byte> chunk : state_->lasting_chunks) {
    detail::ChunkFile::release(chunk);
  }
}

bool Recorder::is_on() const noexcept {
  return state_->chunks != nullptr;
}

bool Recorder::has_joined() const noexcept {
  return state_->host != nullptr;
}

void Recorder::enter_worker(WorkerId worker) noexcept {
  if (has_joined()) {
    state_->host->enter_worker(worker.value());
  }
}

bool Recorder::counts_tasks() const noexcept {
  return has_joined() && state_->host->counts_tasks();
}

void Recorder::begin_task() noexcept {
  state_->host->begin_task();
}

void Recorder::end_task(NameId kind, std::uint64_t id, nanoseconds start, nanoseconds end) noexcept {
  state_->host->end_task(kind.value(), id, start.count(), end.count());
}

void Recorder::region_begins(NameId region, nanoseconds now, WorkerId worker) noexcept {
  if (state_->profile != nullptr) {
    state_->profile->region_begins(region, now, thread(worker, ""));
  }
}

std::span<std::byte> Recorder::lend_chunk() noexcept {
  return is_on() ? state_->chunks->next_chunk() : std::span<std::byte>{};
}

NameId Recorder::name(Role role, std::string_view text) {
  const std::lock_guard lock{state_->mutex};
  State::Names& names = state_->names[static_cast<std::size_t>(role)];
  if (const auto known = names.find(text); known != names.end()) {
    return known->second;
  }
  const bool is_hosted = has_joined();
  const NameId name{is_hosted ? state_->host->name(static_cast<std::uint8_t>(role), text.data(), text.size())
                              : static_cast<std::uint32_t>(names.size())};
  names.emplace(text, name);
  if (is_on() && !is_hosted) {
    if (state_->name_records == nullptr) {
      state_->name_records = state_->make_thread(WorkerId{}, names_thread);
    }
    const std::string stored = detail::storable_text(text, text_bytes_max);
    detail::encode(
        detail::NameRecord{
            .role = role, .length = static_cast<std::uint16_t>(stored.size()), .number = name.value(), .text = stored},
        *state_->name_records);
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

std::span<std::byte> Recorder::lasting_chunk(std::string_view name) noexcept {
  if (!is_on()) {
    return {};
  }
  const std::lock_guard lock{state_->mutex};
  std::vector<std::span<std::byte>>& known = state_->lasting_chunks;
  try {
    known.reserve(known.size() + 1);
  } catch (const std::bad_alloc&) {
    return {};
  }
  const std::span<std::byte> chunk = state_->chunks->next_chunk();
  if (chunk.empty()) {
    return {};
  }
  detail::ChunkRecord head{
      .thread = detail::no_worker, .number = static_cast<std::uint32_t>(known.size()), .name = name};
  detail::FieldWriter fields{chunk.data(), detail::no_worker};
  describe(fields, head);
  // with readers that map the file
  std::atomic_ref{*reinterpret_cast<std::uint8_t*>(chunk.data())}.store(static_cast<std::uint8_t>(detail::Kind::chunk),
                                                                        std::memory_order_release);
  known.push_back(chunk);
  return chunk.subspan(detail::record_bytes);
}

}  // namespace plait::trace
