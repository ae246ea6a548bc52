// SPDX-License-Identifier: Apache-2.0
// The functions by which plait's runtime, in the program, records into this recorder's files.
#include <cstdio>
#include <exception>
#include <string_view>

#include "plait/record/session.hpp"
#include "plait/trace/preloaded_recorder.hpp"

namespace plait::record {
namespace {

void start() {
  if (active.load(std::memory_order_acquire) == nullptr) {
    Session::start();
  }
}

bool can_join(std::uint32_t rank, std::uint32_t rank_count) {
  const Session* const session = active.load(std::memory_order_acquire);  // with release in start()
  if (session == nullptr) {
    return false;
  }
  const std::uint32_t all = session->communicators.run_size();
  const bool is_other = rank_count != all || rank != session->communicators.run_rank();
  if (!is_other && session->runtime.is_free()) {
    return true;
  }
  if (rank == 0) {
    std::fprintf(stderr,
                 is_other ? "plait: a runtime over %u of %u ranks, or in another order, is not recorded; only one with "
                            "the ranks of MPI_COMM_WORLD is\n"
                          : "plait: a second runtime of a process is not recorded (%u of %u ranks)\n",
                 rank_count,
                 all);
  }
  return false;
}

std::int64_t join_recording(std::uint32_t worker_count) {
  Session& session = *active.load(std::memory_order_acquire);
  session.join_runtime(worker_count);
  return (session.clock.now() - session.now()).count();
}

std::byte* next_lent_chunk() {
  Session* const session = active.load(std::memory_order_acquire);
  return session != nullptr ? session->recorder.lend_chunk().data() : nullptr;
}

std::uint32_t number_of_name(std::uint8_t role, const char* text, std::size_t length) {
  Session* const session = active.load(std::memory_order_acquire);
  return session != nullptr
             ? session->recorder.name(static_cast<trace::Role>(role), std::string_view{text, length}).value()
             : 0;
}

std::uint16_t thread_of_worker(std::uint16_t worker) {
  const Session* const session = active.load(std::memory_order_acquire);
  const RecordedThread* const thread = session != nullptr ? session->runtime.worker(worker) : nullptr;
  return thread != nullptr ? thread->recorder.worker() : worker;
}

void enter_worker(std::uint16_t worker) {
  Session* const session = active.load(std::memory_order_acquire);
  if (RecordedThread* const thread = session != nullptr ? session->runtime.worker(worker) : nullptr) {
    session->adopt_thread(*thread);
  }
}

bool hide_calls(bool are_hidden) {
  return std::exchange(thread_state.is_inside, are_hidden);
}

void note_option(const char* option, const char* value) {
  if (Session* const session = active.load(std::memory_order_acquire)) {
    session->runtime.note_option(option, value);
  }
}

bool counts_tasks() {
  const Session* const session = active.load(std::memory_order_acquire);
  return session != nullptr && session->is_counting();
}

void begin_task() {
  if (Session* const session = active.load(std::memory_order_acquire)) {
    session->thread().begin_task(session->recorder);
  }
}

void end_task(std::uint32_t kind, std::uint64_t id, std::int64_t start, std::int64_t end) {
  if (Session* const session = active.load(std::memory_order_acquire)) {
    session->thread().end_task(
        {.task = trace::NameId{kind}, .start = nanoseconds{start}, .end = nanoseconds{end}, .id = id});
  }
}

bool is_profile() {
  return trace::ProfileOptions::from_environment().has_value();
}

/// Calls `use` with the windows and the calling thread's state; returns what it returns, or false without windows.
template <class Use>
bool with_windows(const Use& use) {
  Session* const session = active.load(std::memory_order_acquire);
  if (session == nullptr) {
    return false;
  }
  RecordedThread& thread = session->thread();
  return thread.windows() != nullptr && use(*thread.windows(), thread.recorder);
}

bool has_windows() {
  return with_windows([](trace::Windows&, trace::ThreadRecorder&) { return true; });
}

bool keeps(std::int64_t start, std::int64_t end) {
  return with_windows([&](trace::Windows& windows, trace::ThreadRecorder& recorder) {
    return windows.overlaps(nanoseconds{start}, nanoseconds{end}, recorder);
  });
}

void region_begins(std::uint32_t region, std::int64_t now) {
  with_windows([&](trace::Windows& windows, trace::ThreadRecorder& recorder) {
    windows.region_begins(trace::NameId{region}, nanoseconds{now}, recorder);
    return true;
  });
}

void region_ends(std::uint32_t region, std::int64_t now) {
  with_windows([&](trace::Windows& windows, trace::ThreadRecorder& recorder) {
    windows.region_ends(trace::NameId{region}, nanoseconds{now}, recorder);
    return true;
  });
}

/// As the session chooses it.
std::uint32_t chunk_bytes() {
  return is_profile() ? Profile::chunk_bytes : trace::RecorderOptions{}.chunk_bytes;
}

}  // namespace
}  // namespace plait::record

extern "C" {

[[gnu::visibility("default")]] extern const plait::trace::PreloadedRecorder plait_preloaded_recorder;
const plait::trace::PreloadedRecorder plait_preloaded_recorder{
    .version = plait::trace::PreloadedRecorder::version_here,
    .chunk_bytes = plait::record::chunk_bytes(),
    .start = plait::record::start,
    .can_join = plait::record::can_join,
    .join = plait::record::join_recording,
    .next_chunk = plait::record::next_lent_chunk,
    .name = plait::record::number_of_name,
    .thread_of_worker = plait::record::thread_of_worker,
    .enter_worker = plait::record::enter_worker,
    .hide_calls = plait::record::hide_calls,
    .note_option = plait::record::note_option,
    .counts_tasks = plait::record::counts_tasks,
    .begin_task = plait::record::begin_task,
    .end_task = plait::record::end_task,
    .is_profile = plait::record::is_profile,
    .has_windows = plait::record::has_windows,
    .keeps = plait::record::keeps,
    .region_begins = plait::record::region_begins,
    .region_ends = plait::record::region_ends,
};
}
