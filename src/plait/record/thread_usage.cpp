// SPDX-License-Identifier: Apache-2.0
#include "plait/record/thread_usage.hpp"

#include <fstream>
#include <sched.h>
#include <string>

#include <fmt/format.h>

namespace plait::record {

ThreadUsage usage_of(pid_t thread) {
  ThreadUsage usage;
  nanoseconds::rep running = 0;
  nanoseconds::rep waiting = 0;
  if (std::ifstream file{fmt::format("/proc/self/task/{}/schedstat", thread)}; file >> running >> waiting) {
    usage.processor_time = nanoseconds{running};
    usage.waiting_for_core = nanoseconds{waiting};
  }
  std::ifstream file{fmt::format("/proc/self/task/{}/status", thread)};
  for (std::string word; file >> word;) {
    if (word == "nonvoluntary_ctxt_switches:") {
      file >> usage.involuntary_switches;
      break;
    }
  }
  return usage;
}

unsigned allowed_core_count() {
  // A fixed set has 1024; more need one that is allocated.
  for (int count = CPU_SETSIZE; count <= 64 * CPU_SETSIZE; count *= 4) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(count));
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(count));
    const bool is_known = set != nullptr && ::sched_getaffinity(0, bytes, set) == 0;
    const unsigned allowed = is_known ? static_cast<unsigned>(CPU_COUNT_S(bytes, set)) : 0U;
    CPU_FREE(set);
    if (is_known) {
      return allowed;
    }
  }
  return 0;
}

void record_usage(const UsedThread& used, trace::Recorder& recorder, trace::ThreadRecorder& records) {
  const ThreadUsage now = usage_of(used.thread);
  const ThreadUsage& before = used.at_start;
  const auto record = [&](const char* name, std::uint64_t value) {
    records.count({.of_worker = used.worker,
                   .counter = recorder.name(trace::Role::counter, name),
                   .start = used.start,
                   .end = recorder.now(),
                   .value = value});
  };
  record("processor time", static_cast<std::uint64_t>((now.processor_time - before.processor_time).count()));
  record("waiting for a core", static_cast<std::uint64_t>((now.waiting_for_core - before.waiting_for_core).count()));
  record("involuntary switches", now.involuntary_switches - before.involuntary_switches);
  record("cores allowed", allowed_core_count());
}

}  // namespace plait::record
