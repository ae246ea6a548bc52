// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace plait::record {

/// Something that the processor or the kernel counts, as the perf interface numbers it.
struct CounterKind {
  const char* name = nullptr;
  std::uint32_t type = 0;
  std::uint64_t number = 0;
};

/// The largest number of counters of a thread.
inline constexpr std::size_t counters_max = 9;

/// Of the counters of a thread, in their order; zeros behind the last.
using Counts = std::array<std::uint64_t, counters_max>;

/// Returns the counters that PLAIT_RECORD_COUNTERS requests, separated by commas, each once; none if it is not set.
/// Throws: `Error` with `bad_argument` for a name that is not known; it has all names.
[[nodiscard]] std::vector<CounterKind> counters_wanted();

/// Counters of one thread, from its construction on. Threads: its own.
class ThreadCounters {
 public:
  /// Opens the counters for the calling thread, `counters_max` at most. Throws: `Error` with `io` where the kernel has
  /// one of them not, or does not permit it; it has the reason.
  explicit ThreadCounters(std::span<const CounterKind> kinds);
  ThreadCounters(const ThreadCounters&) = delete;
  ThreadCounters& operator=(const ThreadCounters&) = delete;
  ~ThreadCounters();

  /// Returns the counts so far, in the order of the kinds. Allocates no memory. Counters that had to share the
  /// processor's few registers are scaled to the whole time. Costs about 0.3 microseconds for each.
  [[nodiscard]] Counts read() const noexcept;

 private:
  void close_all() noexcept;

  std::vector<int> files_;
};

}  // namespace plait::record
