// SPDX-License-Identifier: Apache-2.0
// Parallel regions of OpenMP and waits at its barriers, as spans, where the compiler's runtime has the tools interface:
// LLVM's libomp and those made of it have, GCC's libgomp has not.
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/record/ompt.hpp"
#include "plait/record/session.hpp"

namespace plait::record {
namespace {

/// What a thread of a team does that has not been recorded yet.
struct TeamMember {
  RecordedThread* thread = nullptr;
  nanoseconds start{};             ///< Of its part of the region.
  nanoseconds waits_since = none;  ///< In a barrier; `none`: in no barrier.

  static constexpr nanoseconds none{-1};
};
constinit thread_local TeamMember own_member [[gnu::tls_model("initial-exec")]];

/// A parallel region that runs.
struct ParallelRegion {
  trace::NameId name;
  nanoseconds start;
  std::mutex mutex;  ///< Guards what follows.
  /// The threads of the team but the one that has begun the region.
  std::vector<TeamMember*> team;
};

trace::NameId name_of_region(Session& session, const void* place) {
  constexpr std::string_view what = "omp parallel ";
  std::string where = session.sites.look_up(&place).site ? session.sites.text(place) : std::string{};
  if (where.size() > trace::text_bytes_max - what.size()) {
    where.erase(0, where.size() - (trace::text_bytes_max - what.size()));
  }
  return session.recorder.name(trace::Role::span, fmt::format("{}{}", what, where));
}

void record_span(
    const Session& session, RecordedThread& thread, trace::NameId name, nanoseconds start, nanoseconds end) {
  if (!session.is_paused()) {
    thread.recorder.span({.name = name, .start = start, .end = end});
  }
}

/// Records the wait in which a member is, if it is in one.
void end_wait(Session& session, TeamMember& member, const char* name, nanoseconds now) {
  if (const nanoseconds since = std::exchange(member.waits_since, TeamMember::none); since != TeamMember::none) {
    record_span(session, *member.thread, session.recorder.name(trace::Role::span, name), since, now);
  }
}

constexpr const char* implicit_barrier = "omp implicit barrier";

void parallel_begin(ompt::ToolData* /*task*/,
                    const void* /*frame*/,
                    ompt::ToolData* parallel,
                    unsigned /*threads*/,
                    int /*flags*/,
                    const void* place) noexcept {
  parallel->pointer = nullptr;
  if (Session* const session = active.load(std::memory_order_acquire)) {
    parallel->pointer = new ParallelRegion{.name = name_of_region(*session, place), .start = session->now()};
  }
}

/// Records the parts of all threads: those of the others wait for the next region by now, and are notified of the end
/// of this one when that begins, or never.
void parallel_end(ompt::ToolData* parallel, ompt::ToolData* /*task*/, int /*flags*/, const void* /*place*/) noexcept {
  const std::unique_ptr<ParallelRegion> region{static_cast<ParallelRegion*>(parallel->pointer)};
  Session* const session = active.load(std::memory_order_acquire);
  if (region == nullptr || session == nullptr) {
    return;
  }
  const nanoseconds now = session->now();
  const std::lock_guard lock{region->mutex};
  for (TeamMember* const member : region->team) {
    end_wait(*session, *member, implicit_barrier, now);
    record_span(*session, *member->thread, region->name, member->start, now);
  }
  record_span(*session, session->thread(), region->name, region->start, now);
}

void implicit_task(ompt::ScopeEndpoint endpoint,
                   ompt::ToolData* parallel,
                   ompt::ToolData* /*task*/,
                   unsigned /*threads*/,
                   unsigned index,
                   int flags) noexcept {
  Session* const session = active.load(std::memory_order_acquire);
  const bool is_of_region = (flags & ompt::task_implicit) != 0 && parallel != nullptr && parallel->pointer != nullptr;
  if (endpoint != ompt::ScopeEndpoint::begin || session == nullptr || !is_of_region || index == 0) {
    return;
  }
  auto& region = *static_cast<ParallelRegion*>(parallel->pointer);
  own_member = {.thread = &session->thread(), .start = session->now()};
  const std::lock_guard lock{region.mutex};
  region.team.push_back(&own_member);
}

bool is_barrier(ompt::Sync kind) noexcept {
  using enum ompt::Sync;
  return kind <= barrier_implementation || kind == barrier_implicit_workshare || kind == barrier_implicit_parallel;
}

void sync_region_wait(ompt::Sync kind,
                      ompt::ScopeEndpoint endpoint,
                      ompt::ToolData* /*parallel*/,
                      ompt::ToolData* /*task*/,
                      const void* /*place*/) noexcept {
  Session* const session = active.load(std::memory_order_acquire);
  if (session == nullptr || !is_barrier(kind)) {
    return;  // waits for tasks
  }
  if (endpoint == ompt::ScopeEndpoint::begin) {
    own_member.thread = &session->thread();
    own_member.waits_since = session->now();
  } else {
    const bool is_explicit = kind == ompt::Sync::barrier_explicit;
    end_wait(*session, own_member, is_explicit ? "omp barrier" : implicit_barrier, session->now());
  }
}

template <class Callback>
void set_callback_of(ompt::SetCallback set_callback, ompt::Event event, Callback* callback) {
  set_callback(event, reinterpret_cast<ompt::Function>(callback));
}

int begin_tool(ompt::Lookup lookup, int /*device*/, ompt::ToolData* /*tool*/) {
  auto* const set_callback = reinterpret_cast<ompt::SetCallback>(lookup("ompt_set_callback"));
  if (set_callback == nullptr) {
    return 0;  // no tool
  }
  set_callback_of(set_callback, ompt::Event::parallel_begin, parallel_begin);
  set_callback_of(set_callback, ompt::Event::parallel_end, parallel_end);
  set_callback_of(set_callback, ompt::Event::implicit_task, implicit_task);
  set_callback_of(set_callback, ompt::Event::sync_region_wait, sync_region_wait);
  return 1;
}

void end_tool(ompt::ToolData* /*tool*/) {}

constinit ompt::Tool tool{.initialize = begin_tool, .finalize = end_tool, .data = {}};

}  // namespace
}  // namespace plait::record

extern "C" {

/// The runtime of OpenMP calls it at its start; null: no tool.
[[gnu::visibility("default")]] plait::record::ompt::Tool* ompt_start_tool(unsigned /*version*/,
                                                                          const char* /*runtime*/) {
  const char* const folder = std::getenv("PLAIT_RECORD_FOLDER");
  return folder != nullptr && *folder != '\0' ? &plait::record::tool : nullptr;
}
}
