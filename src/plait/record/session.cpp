// SPDX-License-Identifier: Apache-2.0
#include "plait/record/session.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <pthread.h>
#include <string_view>
#include <sys/stat.h>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/record/call.hpp"
#include "plait/record/mpi_progress.hpp"
#include "plait/trace/clock_alignment.hpp"
#include "plait/trace/meta.hpp"

namespace plait::record {

std::atomic<Session*> active = nullptr;
constinit thread_local ThreadState thread_state;

namespace {

/// Of the thread whose end gives its lane back.
pthread_key_t lane_key;
constexpr const char* main_thread = "main";
constexpr int exchange_count = 16;
constexpr int folders_max = 1000;

}  // namespace

void Owners::set(std::uint64_t handle, std::shared_ptr<Communicator> communicator) {
  const std::lock_guard lock{mutex_};
  table_.insert_or_assign(handle, std::move(communicator));
}

void Owners::erase(std::uint64_t handle) noexcept {
  const std::lock_guard lock{mutex_};
  table_.erase(handle);
}

std::shared_ptr<Communicator> Owners::find(std::uint64_t handle) const {
  const std::lock_guard lock{mutex_};
  const auto known = table_.find(handle);
  return known != table_.end() ? known->second : nullptr;
}

/// A thread has ended: the next new one goes on with its lane, so that there are not more lanes than threads at a time.
void leave_lane(void* lane) noexcept {
  if (Session* session = active.load(std::memory_order_acquire)) {  // with release in start()
    const std::lock_guard lock{session->lanes_mutex_};
    static_cast<Lane*>(lane)->write_polls();
    session->spare_lanes_.push_back(static_cast<Lane*>(lane));
  }
}

Lane& Session::lane() {
  if (thread_state.lane == nullptr) [[unlikely]] {
    const std::lock_guard lock{lanes_mutex_};
    if (spare_lanes_.empty()) {
      const auto index = static_cast<std::uint16_t>(lanes_.size());
      const std::string name = index == 0 ? main_thread : fmt::format("thread {}", index);
      lanes_.push_back(std::make_unique<Lane>(recorder.thread(WorkerId{index}, name)));
      spare_lanes_.push_back(lanes_.back().get());
    }
    thread_state.lane = spare_lanes_.back();
    spare_lanes_.pop_back();
    ::pthread_setspecific(lane_key, thread_state.lane);
  }
  return *thread_state.lane;
}

Session::Session(std::filesystem::path folder, Mpi found, std::uint32_t rank, std::uint32_t rank_count)
    : mpi{found},
      recorder{clock, {.folder = folder, .rank = Rank{rank}, .rank_count = rank_count}},
      communicators{mpi, recorder.thread(WorkerId{0}, main_thread)},
      sites{recorder, folder / fmt::format("sites-{:04}.tsv", rank)},
      folder_{std::move(folder)} {}

namespace {

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

}  // namespace

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
    session->begin_meta();
    session->compare_clocks();
    // In a child that the program forks there are no ranks: it must not write into the parent's file.
    ::pthread_atfork(nullptr, nullptr, [] { active.store(nullptr, std::memory_order_relaxed); });
    ::pthread_setspecific(lane_key, thread_state.lane);
    active.store(session, std::memory_order_release);  // with acquire in recording()
  }
  thread_state.is_inside = false;
}

void Session::begin_meta() {
  const std::vector<std::string> hosts = hosts_of(mpi, own_world_, communicators.run_size());
  if (communicators.run_rank() != 0) {
    return;
  }
  meta_.command = own_command();
  meta_.program = meta_.command.empty() ? "" : std::filesystem::path{meta_.command.front()}.filename().string();
  meta_.ranks = communicators.run_size();
  meta_.workers = 1;
  meta_.hosts = hosts;
  meta_.started = std::chrono::system_clock::now();
  meta_.mpi = version_of(mpi);
  meta_.recorder = "mpi";
  write_meta();
}

void Session::write_meta() noexcept {
  try {
    trace::write_meta(folder_, meta_);
  } catch (const std::exception& trouble) {
    std::fprintf(stderr, "plait: %s; the ranks' files are recorded all the same\n", trouble.what());
  }
}

/// Cristian's method, one rank after the other with rank 0: of several exchanges the shortest tells best.
void Session::compare_clocks() {
  trace::ThreadRecorder& trace = lane().recorder;
  const auto exchange = [&](int peer, bool asks) {
    nanoseconds::rep theirs = 0;
    const nanoseconds before = now();
    if (asks) {
      mpi.send(nullptr, 0, mpi.byte, peer, 0, own_world_);
      mpi.recv(&theirs, sizeof theirs, mpi.byte, peer, 0, own_world_, MPI_STATUS_IGNORE);
      return trace::clock_exchange(before, nanoseconds{theirs}, now());
    }
    mpi.recv(nullptr, 0, mpi.byte, peer, 0, own_world_, MPI_STATUS_IGNORE);
    theirs = now().count();
    mpi.send(&theirs, sizeof theirs, mpi.byte, peer, 0, own_world_);
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
    if (const trace::ClockEvent told = exchange(0, true); told.round_trip < best.round_trip) {
      best = told;
    }
  }
  trace.clock(best);
}

void Session::note_unfinished() noexcept {
  lane().write_polls();
  requests.for_each([&](const Operation& operation) {
    if (operation.is_active && operation.kind == OperationKind::send) {
      record_message(lane(), trace::MessageDirection::sent, operation, nanoseconds{});
    } else if (operation.is_active && operation.kind == OperationKind::receive) {
      record_message(lane(), trace::MessageDirection::received, operation, nanoseconds{});
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
  if (communicators.run_rank() == 0) {
    meta_.ended = std::chrono::system_clock::now();
    write_meta();
  }
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
  ::pthread_key_create(&lane_key, leave_lane);
}

/// A program that ends without MPI_Finalize. Its threads may still be running: what is there stays.
[[gnu::destructor]] void note_end() {
  if (Session* session = active.exchange(nullptr)) {
    session->break_off();
  }
}

}  // namespace

}  // namespace plait::record
