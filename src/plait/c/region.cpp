// SPDX-License-Identifier: Apache-2.0
// Regions: recorded by the recorder that was preloaded, or in the trace of the runtime.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <utility>

#include "plait/c/detail/region_trace.hpp"
#include "plait/plait.h"
#include "plait/trace/recorder.hpp"

namespace plait::c::detail {
namespace {

/// The trace of the runtime that was created last. Threads that use it are the runtime's, which outlives their use.
std::atomic<trace::Recorder*> recorder = nullptr;
/// The worker that the calling thread is; invalid on threads of the program.
constinit thread_local WorkerId own_worker;

/// The regions of this thread that have begun. Those below the limit are recorded.
struct OpenRegions {
  static constexpr std::size_t depth_max = 32;
  std::array<trace::SpanEvent, depth_max> spans = {};
  std::array<trace::Recorder*, depth_max> recorders = {};
  std::size_t depth = 0;
};
constinit thread_local OpenRegions open_regions;

/// The functions of the recorder that `plait record` preloads. It precedes a shared library by itself; a program that
/// is linked with the static library has these functions too, and its own come first.
struct Preloaded {
  void (*begin)(const char*) = nullptr;
  void (*end)() = nullptr;
};

Preloaded find_preloaded() noexcept {
  Preloaded found{.begin = reinterpret_cast<void (*)(const char*)>(::dlsym(RTLD_NEXT, "plait_region_begin")),
                  .end = reinterpret_cast<void (*)()>(::dlsym(RTLD_NEXT, "plait_region_end"))};
  return found.begin != nullptr && found.end != nullptr ? found : Preloaded{};
}

const Preloaded& preloaded() noexcept {
  static const Preloaded found = find_preloaded();
  return found;
}

void begin_region(const char* name) noexcept {
  OpenRegions& open = open_regions;
  const std::size_t place = open.depth++;
  if (place >= OpenRegions::depth_max) {
    return;
  }
  trace::Recorder* const to = own_worker ? recorder.load(std::memory_order_acquire) : nullptr;
  open.recorders[place] = to;
  if (to != nullptr) {
    open.spans[place] = {.name = to->name(trace::Role::span, name), .start = to->now()};
    to->region_begins(open.spans[place].name, open.spans[place].start, own_worker);
  }
}

void end_region() noexcept {
  OpenRegions& open = open_regions;
  if (open.depth == 0 || --open.depth >= OpenRegions::depth_max) {
    return;
  }
  trace::Recorder* const to = open.recorders[open.depth];
  if (to != nullptr && own_worker && to == recorder.load(std::memory_order_acquire)) {
    open.spans[open.depth].end = to->now();
    to->thread(own_worker, "").span(open.spans[open.depth]);
  }
}

}  // namespace

void record_regions(Runtime& runtime) noexcept {
  if (runtime.trace().is_on() && runtime.messages().executor() == nullptr) {  // simulated ranks share a thread
    own_worker = WorkerId{0};
    recorder.store(&runtime.trace(), std::memory_order_release);  // with acquire in begin() and end()
  }
}

void end_regions(Runtime& runtime) noexcept {
  trace::Recorder* expected = &runtime.trace();
  if (recorder.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel)) {
    own_worker = {};
  }
}

RegionsOfWorker::RegionsOfWorker(WorkerId worker) noexcept : before_{std::exchange(own_worker, worker)} {}

RegionsOfWorker::~RegionsOfWorker() {
  own_worker = before_;
}

}  // namespace plait::c::detail

extern "C" {

void plait_region_begin(const char* name) {
  if (auto* const recorder = plait::c::detail::preloaded().begin) {
    recorder(name);
  } else {
    plait::c::detail::begin_region(name);
  }
}

void plait_region_end() {
  if (auto* const recorder = plait::c::detail::preloaded().end) {
    recorder();
  } else {
    plait::c::detail::end_region();
  }
}
}
