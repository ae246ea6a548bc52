// SPDX-License-Identifier: Apache-2.0
#include "plait/record/session.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <pthread.h>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/base/topology.hpp"
#include "plait/record/call.hpp"
#include "plait/record/own_cost.hpp"
#include "plait/trace/clock_alignment.hpp"
#include "plait/trace/run_folder.hpp"

namespace plait::record {

std::atomic<Session*> active = nullptr;
constinit thread_local ThreadState thread_state;

namespace {

/// Its destructor returns the `RecordedThread` of an ended thread.
pthread_key_t thread_key;
constexpr int exchange_count = 16;

/// Broadcasts the text of rank 0.
std::string shared_text(const Mpi& mpi, MPI_Comm handle, std::string text) {
  auto length = static_cast<std::uint32_t>(text.size());
  mpi.bcast(&length, 1, mpi.uint32, 0, handle);
  text.resize(length);
  mpi.bcast(text.data(), static_cast<int>(length), mpi.byte, 0, handle);
  return text;
}

std::vector<std::string> own_command() {
  std::ifstream file{"/proc/self/cmdline", std::ios::binary};
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) {
    arguments.push_back(argument);
  }
  return arguments;
}

std::vector<std::string> hosts_of(const Mpi& mpi, MPI_Comm handle, std::uint32_t rank_count) {
  using Name = std::array<char, MPI_MAX_PROCESSOR_NAME>;
  Name own{};
  int length = 0;
  mpi.get_processor_name(own.data(), &length);
  std::vector<Name> all(rank_count);
  const auto size = static_cast<int>(own.size());
  mpi.gather(own.data(), size, mpi.byte, all.data(), size, mpi.byte, 0, handle);
  std::vector<std::string> hosts;
  for (const Name& name : all) {
    hosts.emplace_back(name.data());
  }
  return hosts;
}

std::string version_of(const Mpi& mpi) {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  mpi.get_library_version(text.data(), &length);
  const std::string_view whole{text.data()};
  return std::string{whole.substr(0, whole.find_first_of("\n,"))};
}

/// Describes the run, for meta.json. Collective over `world`; complete on rank 0 only.
trace::Meta describe_run(const Mpi& mpi, MPI_Comm world, const KnownCommunicators& communicators) {
  trace::Meta meta;
  meta.command = own_command();
  meta.program = meta.command.empty() ? "" : std::filesystem::path{meta.command.front()}.filename().string();
  meta.ranks = communicators.run_size();
  meta.workers = 1;
  meta.hosts = hosts_of(mpi, world, meta.ranks);
  meta.cores = machine_core_count();
  meta.started = std::chrono::system_clock::now();
  meta.mpi = version_of(mpi);
  return meta;
}

/// Writes meta.json on rank 0; reports on stderr if it cannot.
void write_run(const DescribedRun& run, const KnownCommunicators& ranks) noexcept {
  try {
    if (ranks.run_rank() == 0) {
      trace::write_meta(run.folder, run.meta);
    }
  } catch (const std::exception& trouble) {
    std::fprintf(stderr, "plait: %s; the ranks' files are recorded all the same\n", trouble.what());
  }
}

/// An operation that never completes: testing it makes Open MPI and MPICH progress all operations in flight. (A probe
/// does so in Open MPI only, and a receive needs a communicator of its own.) Must end before MPI is finalised.
class EndlessRequest {
 public:
  EndlessRequest() {
    const auto query = [](void*, MPI_Status*) -> int { return MPI_SUCCESS; };
    const auto free = [](void*) -> int { return MPI_SUCCESS; };
    const auto cancel = [](void*, int) -> int { return MPI_SUCCESS; };
    const Real<decltype(PMPI_Grequest_start)> start{"PMPI_Grequest_start"};
    is_good_ = start(query, free, cancel, nullptr, &request_) == MPI_SUCCESS;
  }
  EndlessRequest(const EndlessRequest&) = delete;
  EndlessRequest& operator=(const EndlessRequest&) = delete;
  ~EndlessRequest() {
    if (is_good_) {
      complete_(request_);
      wait_(&request_, MPI_STATUS_IGNORE);
    }
  }

  /// False on errors.
  [[nodiscard]] bool test() noexcept {
    int is_complete = 0;
    return is_good_ && test_(&request_, &is_complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_complete == 0;
  }

 private:
  Real<decltype(PMPI_Test)> test_{"PMPI_Test"};
  Real<decltype(PMPI_Wait)> wait_{"PMPI_Wait"};
  Real<decltype(PMPI_Grequest_complete)> complete_{"PMPI_Grequest_complete"};
  MPI_Request request_{};
  bool is_good_ = false;
};

trace::RecorderOptions recorder_options(const std::filesystem::path& folder,
                                        std::uint32_t rank,
                                        std::uint32_t rank_count) {
  trace::RecorderOptions options{.folder = folder, .rank = Rank{rank}, .rank_count = rank_count};
  if (trace::ProfileOptions::from_environment()) {
    options.chunk_bytes = Profile::chunk_bytes;
  }
  return options;
}

/// Null if no profile is requested.
std::unique_ptr<Profile> make_profile(trace::Recorder& recorder) {
  const auto options = trace::ProfileOptions::from_environment();
  return options ? std::make_unique<Profile>(recorder, *options) : nullptr;
}

const char* name_of_level(int level) {
  return level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
         : level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED"
                                        : "MPI_THREAD_SINGLE";
}

/// Returns why background progress is not possible with this MPI; empty if it is.
std::string why_no_progress() {
  int provided = MPI_THREAD_SINGLE;
  Real<decltype(PMPI_Query_thread)>{"PMPI_Query_thread"}(&provided);
  if (provided >= MPI_THREAD_MULTIPLE) {
    return {};
  }
  return fmt::format(
      "plait: no progress in the background: that takes MPI_THREAD_MULTIPLE, and this MPI library gives {}; the "
      "program runs as it would without --progress",
      name_of_level(provided));
}

}  // namespace

bool is_progress_wanted() {
  const char* const wanted = std::getenv("PLAIT_RECORD_PROGRESS");
  return wanted != nullptr && *wanted != '\0' && std::string_view{wanted} != "0";
}

bool are_calls_wanted() {
  const char* const wanted = std::getenv("PLAIT_RECORD_CALLS");
  return wanted == nullptr || std::string_view{wanted} != "0";
}

namespace {

/// While it lives, calls of this thread are the recorder's own.
struct Inside {
  Inside() : was_inside{std::exchange(thread_state.is_inside, true)} {}
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { thread_state.is_inside = was_inside; }
  const bool was_inside;
};

}  // namespace

void leave_thread(void* thread) noexcept {
  if (Session* session = active.load(std::memory_order_acquire)) {  // with release in start()
    auto& ended = *static_cast<RecordedThread*>(thread);
    ended.end_regions(session->now());
    session->threads_.give_back(ended, session->recorder);
  }
}

RecordedThread& Session::thread() {
  if (thread_state.thread == nullptr) [[unlikely]] {
    thread_state.thread = &threads_.take(recorder);
    ::pthread_setspecific(thread_key, thread_state.thread);
  }
  return *thread_state.thread;
}

void Session::adopt_thread(RecordedThread& own) {
  if (thread_state.thread == nullptr) {  // a thread that has called MPI keeps its number
    threads_.occupy(own, recorder);
    thread_state.thread = &own;
    ::pthread_setspecific(thread_key, thread_state.thread);
  }
}

Session::Session(std::filesystem::path folder, Mpi found, std::uint32_t rank, std::uint32_t rank_count)
    : records_calls{are_calls_wanted()},
      mpi{found},
      recorder{clock, recorder_options(folder, rank, rank_count)},
      communicators{mpi, recorder.thread(WorkerId{0}, "main")},
      sites{recorder, folder / fmt::format("sites-{:04}.tsv", rank), folder / fmt::format("modules-{:04}.tsv", rank)},
      run_{.folder = std::move(folder), .meta = {}},
      threads_{make_profile(recorder)} {}

void Session::start() {
  const char* wanted = std::getenv("PLAIT_RECORD_FOLDER");
  if (wanted == nullptr || *wanted == '\0') {
    return;
  }
  const Inside inside;
  const Mpi mpi;
  MPI_Comm parent;
  MPI_Comm own_world;
  int rank = 0;
  int size = 0;
  mpi.comm_rank(mpi.world, &rank);
  mpi.comm_size(mpi.world, &size);
  mpi.comm_get_parent(&parent);
  if (parent != mpi.comm_null) {
    if (rank == 0) {
      std::fprintf(stderr, "plait: processes that the program starts itself (MPI_Comm_spawn) are not recorded\n");
    }
    return;
  }
  mpi.comm_dup(mpi.world, &own_world);
  std::string folder = shared_text(mpi, own_world, rank == 0 ? trace::unused_run_folder(wanted) : std::string{});
  Session* session = nullptr;
  try {
    session = new Session{folder, mpi, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(size)};
  } catch (const std::exception& trouble) {
    std::fprintf(stderr, "plait: rank %d cannot record: %s; the program runs on without\n", rank, trouble.what());
  }
  // All or none, as all agree on the numbers of communicators.
  const std::uint32_t failed = session == nullptr ? 1 : 0;
  std::uint32_t any_failed = 0;
  mpi.allreduce(&failed, &any_failed, 1, mpi.uint32, mpi.max, own_world);
  if (any_failed == 0) {
    session->own_world_ = own_world;
    session->run_.meta = describe_run(mpi, own_world, session->communicators);
    session->run_.meta.recorder = session->records_calls ? "mpi" : "plait";
    if (trace::ProfileOptions::from_environment()) {
      session->run_.meta.options["profile"] = "on";
    }
    write_run(session->run_, session->communicators);
    session->compare_clocks();
    // A forked child must not write into the parent's file.
    ::pthread_atfork(nullptr, nullptr, [] { active.store(nullptr, std::memory_order_relaxed); });
    ::pthread_setspecific(thread_key, thread_state.thread);
    if (session->records_calls && !trace::ProfileOptions::from_environment()) {
      session->record_own_cost();
    }
    session->start_counters();
    active.store(session, std::memory_order_release);  // with acquire in recording()
    session->start_samples();
  }
}

/// Cristian's method, each rank in turn with rank 0: of several exchanges, the shortest counts.
void Session::compare_clocks() {
  trace::ThreadRecorder& trace = thread().recorder;
  const auto exchange = [&](int peer, bool asks) {
    nanoseconds::rep theirs = 0;
    constexpr int bytes = sizeof theirs;
    const nanoseconds before = now();
    if (asks) {
      mpi.send(nullptr, 0, mpi.byte, peer, 0, own_world_);
      mpi.recv(&theirs, bytes, mpi.byte, peer, 0, own_world_, MPI_STATUS_IGNORE);
      return trace::clock_exchange(before, nanoseconds{theirs}, now());
    }
    mpi.recv(nullptr, 0, mpi.byte, peer, 0, own_world_, MPI_STATUS_IGNORE);
    theirs = now().count();
    mpi.send(&theirs, bytes, mpi.byte, peer, 0, own_world_);
    return trace::ClockEvent{};
  };
  if (communicators.run_rank() == 0) {
    for (std::uint32_t rank = 1; rank < communicators.run_size(); ++rank) {
      for (int i = 0; i < exchange_count; ++i) {
        exchange(static_cast<int>(rank), false);
      }
    }
    trace.clock({.time = now()});
    return;
  }
  trace::ClockEvent best{.round_trip = nanoseconds::max()};
  for (int i = 0; i < exchange_count; ++i) {
    if (const trace::ClockEvent measured = exchange(0, true); measured.round_trip < best.round_trip) {
      best = measured;
    }
  }
  trace.clock(best);
  if (trace::Windows* const windows = thread().windows()) {
    windows->align(best.offset);
  }
}

void Session::note_unfinished() noexcept {
  resume();
  threads_.write_usage(recorder, thread().recorder);
  thread().write_polls();
  thread().end_regions(now());
  requests.for_each([&](const PostedOperation& operation) {
    if (operation.is_active) {
      record_message(thread(), operation, nanoseconds{});
    }
  });
}

void Session::pause() noexcept {
  thread().write_polls();
  nanoseconds::rep none = -1;
  paused_since_.compare_exchange_strong(none, now().count(), std::memory_order_relaxed);
}

void Session::resume() noexcept {
  const nanoseconds since{paused_since_.exchange(-1, std::memory_order_relaxed)};
  if (since >= nanoseconds{}) {
    thread().recorder.span(
        {.name = recorder.name(trace::Role::span, "recording off (MPI_Pcontrol)"), .start = since, .end = now()});
  }
}

void Session::start_progress() {
  if (const std::string reason = why_no_progress(); !reason.empty()) {
    if (communicators.run_rank() == 0) {
      std::fprintf(stderr, "%s\n", reason.c_str());
    }
    return;
  }
  const auto request = std::make_shared<EndlessRequest>();
  progress_ = std::make_unique<Progress>(pending, [request] { return request->test(); });
  // Before the MPI library is unloaded, if the program does not call MPI_Finalize.
  std::atexit([] {
    if (Session* session = active.load(std::memory_order_acquire)) {  // with release in start()
      session->stop_progress();
    }
  });
}

void Session::start_samples() {
  samples_ = start_recording_samples({.recorder = recorder,
                                      .sites = sites,
                                      .worker_of = [this](pid_t thread) { return threads_.worker_of(thread); },
                                      .may_report = communicators.run_rank() == 0});
}

void Session::start_counters() noexcept {
  try {
    std::vector<CounterKind> kinds = counters_wanted();
    const ThreadCounters trial{kinds};
    threads_.count(std::move(kinds));
  } catch (const std::exception& trouble) {
    if (communicators.run_rank() == 0) {
      std::fprintf(stderr, "plait: nothing is counted: %s\n", trouble.what());
    }
  }
}

void Session::record_own_cost() noexcept {
  const auto scratch = run_.folder / fmt::format("cost-{:04}", communicators.run_rank());
  try {
    thread().recorder.recorder_costs(measure_own_cost(*this, scratch));
  } catch (const std::exception& trouble) {
    std::fprintf(stderr, "plait: what recording takes is not measured: %s\n", trouble.what());
  }
  numbers_.store(1, std::memory_order_relaxed);  // no thread of the program is recorded yet
}

void Session::stop_progress() noexcept {
  if (progress_ != nullptr && !progress_->stop()) {
    std::fprintf(stderr, "plait: the progress thread does not end; MPI may report errors\n");
  }
}

void Session::finish() {
  if (is_over_.exchange(true)) {
    return;
  }
  stop_progress();
  samples_.reset();
  progress_.reset();
  note_unfinished();
  compare_clocks();
  run_.meta.ended = std::chrono::system_clock::now();
  run_.meta.workers = std::max(run_.meta.workers, runtime.worker_count());
  run_.meta.options.merge(runtime.options());
  write_run(run_, communicators);
  mpi.comm_free(&own_world_);
}

void Session::break_off() noexcept {
  if (!is_over_.exchange(true)) {
    stop_progress();
    samples_.reset();
    note_unfinished();
  }
}

namespace {

/// Runs before any thread can call MPI.
[[gnu::constructor]] void prepare_threads() {
  ::pthread_key_create(&thread_key, leave_thread);
}

/// For a program that ends without MPI_Finalize. Its threads may still run, so nothing is destroyed.
[[gnu::destructor]] void note_end() {
  if (Session* session = active.exchange(nullptr)) {
    session->break_off();
  }
}

}  // namespace

}  // namespace plait::record
