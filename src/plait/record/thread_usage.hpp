// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <sys/types.h>

#include "plait/base/clock.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::record {

/// What the kernel has counted for a thread since it began.
struct ThreadUsage {
  nanoseconds processor_time{};
  nanoseconds waiting_for_core{};  ///< Ready to run, while others had the cores.
  std::uint64_t involuntary_switches = 0;
};

/// Reads the counts of a thread of this process; zeros where the kernel has none. Costs about 20 microseconds.
[[nodiscard]] ThreadUsage usage_of(pid_t thread);

/// The number of cores on which the calling thread may run; 0 if it is not known.
[[nodiscard]] unsigned allowed_core_count();

/// A thread of the program, from its first call on.
struct UsedThread {
  std::uint16_t worker = 0;  ///< Its number in the trace.
  pid_t thread = 0;          ///< Of the kernel; 0 between threads.
  nanoseconds start{};
  ThreadUsage at_start;
};

/// Records, with the thread recorder of the caller, what the kernel has counted for a thread since its start:
/// "processor time" and "waiting for a core" in nanoseconds, "involuntary switches", "cores allowed".
void record_usage(const UsedThread& used, trace::Recorder& recorder, trace::ThreadRecorder& records);

}  // namespace plait::record
