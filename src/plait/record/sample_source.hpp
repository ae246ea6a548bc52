// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <sys/types.h>

#include "plait/base/clock.hpp"
#include "plait/record/unwinder.hpp"

namespace plait::record {

/// Bytes of the stack that a sample has. Callers beyond them are not known.
inline constexpr std::size_t sampled_stack_bytes = 16 * 1024;

/// Where a thread was.
struct RawSample {
  nanoseconds time{};  ///< Of the machine's monotonic clock.
  Registers registers;
  StackBytes stack;
};

/// Samples of one thread, in equal intervals of its processor time.
///
/// The destructor ends them. Threads: one at a time, which is not the sampled one.
class SampleSource {
 public:
  SampleSource() = default;
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;
  virtual ~SampleSource() = default;

  /// Calls `take` with each new sample, whose stack lasts for the call.
  virtual void drain(const std::function<void(const RawSample&)>& take) = 0;
  /// Samples lost because `drain` was called too late.
  [[nodiscard]] virtual std::uint64_t lost_count() const noexcept = 0;
};

/// Samples from the kernel's perf interface. Returns null, and sets errno, where that is not permitted or not there.
/// `thread`: of this process.
[[nodiscard]] std::unique_ptr<SampleSource> perf_samples(pid_t thread, nanoseconds interval);

/// Samples from a timer of the thread's processor time, which sends it the signal SIGPROF. Its interval is that of the
/// kernel's clock ticks at least, 1 to 10 ms. Returns null, and sets errno, if there is no timer, or the program uses
/// that signal (EBUSY).
[[nodiscard]] std::unique_ptr<SampleSource> timer_samples(pid_t thread, nanoseconds interval);

}  // namespace plait::record
