// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <sys/types.h>

#include "plait/base/clock.hpp"
#include "plait/record/own_thread.hpp"
#include "plait/record/sample_source.hpp"

namespace plait::record {

/// Where a thread was, with the call path.
struct ThreadSample {
  nanoseconds time{};  ///< Of the machine's monotonic clock.
  pid_t thread = 0;
  std::uint32_t thread_number = 0;  ///< In the order in which threads were found, from 0.
  /// Addresses: where the innermost function starts, or the instruction if that is unknown; then the calls of its
  /// callers. Lasts for the call.
  std::span<const std::uintptr_t> path;
};

struct SamplerOptions {
  nanoseconds interval = std::chrono::milliseconds{10};  ///< Of each thread's processor time.
  /// Opens the samples of a thread; null, with errno, where it cannot.
  std::unique_ptr<SampleSource> (*open)(pid_t thread, nanoseconds interval) = perf_samples;
};

/// Samples all threads of this process, but those whose names begin with "plait-" and are not that of the program, on a
/// thread of its own.
///
/// That thread finds new threads, and call paths, between samples. Threads: created and stopped by one.
class Sampler {
 public:
  /// `take` is called with each sample, on the sampler's thread. Throws: std::system_error if the calling thread cannot
  /// be sampled, or the sampler's thread cannot be created.
  Sampler(std::function<void(const ThreadSample&)> take, const SamplerOptions& options);
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  /// As `stop`.
  ~Sampler();

  /// Takes the last samples, ends the thread and waits for it, at most five seconds. Returns whether it has ended. Does
  /// nothing in a forked child, which has no such thread.
  bool stop() noexcept;
  /// Samples lost because the sampler's thread was late. After `stop`.
  [[nodiscard]] std::uint64_t lost_count() const noexcept;

 private:
  struct Shared;  ///< Owned by both thread and object.

  std::shared_ptr<Shared> shared_;
  std::optional<OwnThread> thread_;  ///< Always there, once it is constructed.
};

/// Returns the interval that PLAIT_RECORD_SAMPLE requests, in samples a second of processor time; nothing if it is not
/// set, or is 0. Throws: `Error` with `bad_argument` for what is no number of 1 to 10000.
[[nodiscard]] std::optional<nanoseconds> sampling_wanted();

}  // namespace plait::record
