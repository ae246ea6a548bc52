// SPDX-License-Identifier: Apache-2.0
#include "plait/record/session.hpp"

#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <sys/stat.h>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/record/call.hpp"
#include "plait/record/mpi_progress.hpp"
#include "plait/trace/clock_alignment.hpp"

namespace plait::record {

std::atomic<Session*> active = nullptr;
constinit thread_local ThreadState thread_state;

namespace {

/// Of the thread whose end gives its thread back.
pthread_key_t thread_key;
constexpr int exchange_count = 16;
constexpr int folders_max = 1000;

/// The first of FOLDER, FOLDER-2, FOLDER-3, ... that holds no trace: a command may start several programs.
std::string unused_folder(const std::string& wanted) {
  struct stat ignored{};
  for (int i = 1; i < folders_max; ++i) {
    std::string folder = i == 1 ? wanted : fmt::format("{}-{}", wanted, i);
    if (::stat((folder + "/rank-0000.plt").c_str(), &ignored) != 0) {
      return folder;
    }
  }
  return wanted;
}

/// The same text on all ranks: that of rank 0.
std::string shared_text(const Mpi& mpi, MPI_Comm handle, std::string text) {
  auto length = static_cast<std::uint32_t>(text.size());
  mpi.bcast(&length, 1, mpi.uint32, 0, handle);
  text.resize(length);
  mpi.bcast(text.data(), static_cast<int>(length), mpi.byte, 0, handle);
  return text;
}

}  // namespace

void leave_thread(void* thread) noexcept {
  if (Session* session = active.load(std::memory_order_acquire)) {  // with release in start()
    session->threads_.give_back(*static_cast<RecordedThread*>(thread));
  }
}

RecordedThread& Session::thread() {
  if (thread_state.thread == nullptr) [[unlikely]] {
    thread_state.thread = &threads_.take(recorder);
    ::pthread_setspecific(thread_key, thread_state.thread);
  }
  return *thread_state.thread;
}

Session::Session(std::filesystem::path folder, Mpi found, std::uint32_t rank, std::uint32_t rank_count)
    : mpi{found},
      recorder{clock, {.folder = folder, .rank = Rank{rank}, .rank_count = rank_count}},
      communicators{mpi, recorder.thread(WorkerId{0}, "main")},
      sites{recorder, folder / fmt::format("sites-{:04}.tsv", rank)},
      folder_{std::move(folder)} {}

void Session::start() {
  const char* wanted = std::getenv("PLAIT_RECORD_FOLDER");
  if (wanted == nullptr || *wanted == '\0') {
    return;
  }
  thread_state.is_inside = true;
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
    thread_state.is_inside = false;
    return;
  }
  mpi.comm_dup(mpi.world, &own_world);
  std::string folder = shared_text(mpi, own_world, rank == 0 ? unused_folder(wanted) : std::string{});
  Session* session = nullptr;
  try {
    session = new Session{folder, mpi, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(size)};
  } catch (const std::exception& trouble) {
    std::fprintf(stderr, "plait: rank %d cannot record: %s; the program runs on without\n", rank, trouble.what());
  }
  // All or none: numbers of communicators are agreed on by all.
  const std::uint32_t failed = session == nullptr ? 1 : 0;
  std::uint32_t any_failed = 0;
  mpi.allreduce(&failed, &any_failed, 1, mpi.uint32, mpi.max, own_world);
  if (any_failed == 0) {
    session->own_world_ = own_world;
    session->meta_ = describe_run(mpi, own_world, session->communicators);
    write_run(folder, session->meta_, session->communicators);
    session->compare_clocks();
    // In a child that the program forks there are no ranks: it must not write into the parent's file.
    ::pthread_atfork(nullptr, nullptr, [] { active.store(nullptr, std::memory_order_relaxed); });
    ::pthread_setspecific(thread_key, thread_state.thread);
    active.store(session, std::memory_order_release);  // with acquire in recording()
  }
  thread_state.is_inside = false;
}

/// Cristian's method, one rank after the other with rank 0: of several exchanges the shortest is the best.
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
}

void Session::note_unfinished() noexcept {
  thread().write_polls();
  requests.for_each([&](const PostedOperation& operation) {
    if (operation.is_active) {
      record_message(thread(), operation, nanoseconds{});
    }
  });
}

void Session::start_progress() {
  progress_ = record::start_progress(pending);
  if (progress_ == nullptr && communicators.run_rank() == 0) {
    std::fprintf(stderr, "%s\n", why_no_progress().c_str());
  }
  // Before the MPI library goes, where the program forgets MPI_Finalize.
  std::atexit([] {
    if (Session* session = active.load(std::memory_order_acquire)) {  // with release in start()
      session->stop_progress();
    }
  });
}

void Session::stop_progress() noexcept {
  if (progress_ != nullptr && !progress_->stop()) {
    std::fprintf(stderr, "plait: the thread that makes progress does not end; MPI may complain\n");
  }
}

void Session::finish() {
  if (is_over_.exchange(true)) {
    return;
  }
  stop_progress();
  progress_.reset();
  note_unfinished();
  compare_clocks();
  meta_.ended = std::chrono::system_clock::now();
  write_run(folder_, meta_, communicators);
  mpi.comm_free(&own_world_);
}

void Session::break_off() noexcept {
  if (!is_over_.exchange(true)) {
    stop_progress();
    note_unfinished();
  }
}

namespace {

/// Makes what every thread needs before the first of them can call MPI.
[[gnu::constructor]] void prepare_threads() {
  ::pthread_key_create(&thread_key, leave_thread);
}

/// A program that ends without MPI_Finalize. Its threads may still be running: what is there stays.
[[gnu::destructor]] void note_end() {
  if (Session* session = active.exchange(nullptr)) {
    session->break_off();
  }
}

}  // namespace

}  // namespace plait::record
